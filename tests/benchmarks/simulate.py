#!/usr/bin/env python3
"""The messages of a step on a large machine: what -muon_view_cost predicts beside what SimGrid simulates.

    simulate.py STEP [-ranks 8,64] [-entries 124e6] [-messages ef21] [-exchange layerwise] [-bandwidth 1e10] [-latency 25e-6] [-limit 120] [-measure "share/petscmuon/lab/run --rate 1gbit --hosts {ranks} --"]

STEP is the benchmark of a step: it has the layers, and makes the prediction. The simulated machine has one link a rank, which carries as much in each direction
at once, and no other limit; the collectives are those that the model has in mind. The library's transport is compiled by smpicc as it is. Simulated memory is shared between
ranks and not copied. A simulation that takes longer than the limit, in seconds, is left out and said to be.
"""
import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
MESSAGES = {'ef21, topk 0.1 natural both ways': [], 'dense': ['-muon_type', 'dense', '-muon_state_precision', 'single']}
CLUSTER = '''<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
  <cluster id="machine" prefix="n" suffix="" radical="0-%d" speed="1Gf" bw="%.0fBps" lat="%.9fs" sharing_policy="SPLITDUPLEX"/>
</zone></platform>
'''
# Links carry what they are said to: no factors for the headers and windows of TCP. Computing takes no time, in any column
MODEL = ['network/model:CM02', 'network/TCP-gamma:0', 'smpi/simulate-computation:no', 'smpi/auto-shared-malloc-thresh:100000', 'smpi/shared-malloc:global', 'smpi/shared-malloc-blocksize:67108864']
# The collectives that the model has in mind: rings and pairs, and trees whose messages are cut into parts, or are whole
ALWAYS = ['smpi/allgather:bruck', 'smpi/allgatherv:ring', 'smpi/alltoall:bruck', 'smpi/alltoallv:ring']
PARTS, WHOLE = ['smpi/bcast:ompi_pipeline', 'smpi/reduce:ompi_pipeline'], ['smpi/bcast:binomial_tree', 'smpi/reduce:binomial']

def predict(step, options, ranks, args):
    """Bytes up and down, sums, and {exchange: (seconds, seconds with whole trees)}."""
    text = subprocess.run([step, '-benchmark_model', 'quickstart', '-benchmark_steps', '1', '-muon_view_cost', '-muon_cost_workers', str(ranks), '-muon_cost_entries', '%.0f' % args.entries, '-muon_cost_alpha', str(args.latency),
                           '-muon_cost_beta', str(args.bandwidth), '-muon_cost_gamma', '1e30'] + options, capture_output=True, text=True, check=True).stdout
    up, down = (float(x) for x in re.search(r'at most (\d+) bytes up, (\d+) down', text).groups())
    sums = int(re.search(r'workers, (\d+) layers', text).group(1))
    own = text[text.index('its exchanges'):text.index('votes on the signs')]
    rows = re.findall(r'^[ *]+(\w+) +(reduce|gather|allreduce) +\d+ +\S+ +(\S+) +(\S+)$', own, re.M)
    return up, down, sums, {'%s-%s' % row[:2]: (float(row[2]), float(row[3])) for row in rows}

def run(command, limit):
    """The seconds that the program prints; NaN where the limit ends it, an error where it fails."""
    # The simulator is a child of smpirun's, and has to end with it
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
        try:
            text = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return float('nan')
    found = re.search(r'seconds (\S+)', text)
    if process.returncode != 0 or found is None:
        sys.exit('%s\n%s' % (' '.join(command), text))
    return float(found.group(1))

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('step')
    for name, value in (('ranks', '8,64'), ('entries', 124e6), ('bandwidth', 1e10), ('latency', 25e-6), ('limit', 120.0), ('messages', ''), ('exchange', ''), ('measure', '')):
        parser.add_argument('-' + name, type=type(value), default=value)
    args = parser.parse_args()
    if shutil.which('smpicc') is None:
        print('no simulation: there is no smpicc, which is in libsimgrid-dev')
        return
    with tempfile.TemporaryDirectory() as folder:
        program, platform, hosts = (os.path.join(folder, name) for name in ('simulate', 'platform.xml', 'hosts'))
        includes = ['-I' + os.path.join(ROOT, path) for path in ('include', 'src')] + ['-I' + os.path.join(os.path.dirname(args.step), '..', '..', 'include')]
        subprocess.run(['smpicc', '-O2'] + includes + [os.path.join(ROOT, 'src/transport/transport.c'), os.path.join(ROOT, 'tests/benchmarks/simulate.c'), '-o', program], cwd=folder, check=True)
        print('one step of %.0f entries; links of %g Gbit/s each way, %g us a message; nothing is computed' % (args.entries, args.bandwidth / 1e9, args.latency * 1e6))
        print('%-32s %-30s %6s %10s %10s %10s  %s' % ('messages', 'exchange', 'ranks', 'predicted', 'simulated', 'measured', 'simulated/predicted'))
        for name, options in ((name, options) for name, options in MESSAGES.items() if name.startswith(args.messages)):
            for ranks in (int(text) for text in args.ranks.split(',')):
                with open(platform, 'w') as file:
                    file.write(CLUSTER % (ranks - 1, args.bandwidth / 8, args.latency / 2))
                with open(hosts, 'w') as file:
                    file.writelines('n%d\n' % rank for rank in range(ranks))
                up, down, sums, ways = predict(args.step, options, ranks, args)
                for way in (way for way in ways if way.startswith(args.exchange)):
                    # Owners have even shares, in the model too
                    calls = -(-sums // ranks) * ranks if way == 'layerwise-reduce' else sums
                    sizes = ['%.0f' % (4 * args.entries if way.endswith('reduce') else up), '%.0f' % down, str(calls)]
                    for trees in range(2 if ways[way][0] != ways[way][1] else 1):
                        # The vote of all ranks is a sum, too, of one number
                        keys = MODEL + ALWAYS + (WHOLE if trees else PARTS) + ['smpi/allreduce:' + ('rdb' if not way.endswith('allreduce') else 'redbcast' if trees else 'lr')]
                        command = ['smpirun', '-np', str(ranks), '-hostfile', hosts, '-platform', platform, '--log=root.thres:critical'] + ['--cfg=' + key for key in keys]
                        simulated, measured = run(command + [program, way] + sizes, args.limit), float('nan')
                        if args.measure and ranks <= 8:
                            measured = run(shlex.split(args.measure.replace('{ranks}', str(ranks))) + [os.path.join(os.path.dirname(args.step), 'simulate'), way] + sizes, args.limit)
                        text = '%.2f' % (simulated / ways[way][trees]) if simulated == simulated else 'longer than %g s' % args.limit
                        print('%-32s %-30s %6d %10.4g %10.4g %10.4g  %s' % (name, way + (', whole trees' if trees else ''), ranks, ways[way][trees], simulated, measured, text), flush=True)

if __name__ == '__main__':
    main()
