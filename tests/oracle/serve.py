"""Runs oracles for the runner, each in a fork of this one: to start Python with numpy takes longer than most of them.

A line of JSON on standard input, [oracle, its arguments, folder to run in, file of its output, seconds], is answered by a line, its status; negative where a signal ended it, that of the alarm past the limit.
"""
import json
import os
import signal
import sys

import ef21  # noqa: F401, with numpy and most of what the others import

codes = {}
for line in sys.stdin:
    script, words, folder, output, limit = json.loads(line)
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
    if name not in codes and os.path.exists(name):
        with open(name) as f:
            codes[name] = compile(f.read(), name, 'exec')
    child = os.fork()
    if child == 0:
        file = os.open(output, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.chdir(folder)
        signal.alarm(int(limit))
        sys.argv = [name] + words
        if name not in codes:
            sys.exit('there is no %s' % name)
        exec(codes[name], {'__name__': '__main__', '__file__': name})
        sys.exit(0)
    status = os.waitpid(child, 0)[1]
    print(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status), flush=True)
