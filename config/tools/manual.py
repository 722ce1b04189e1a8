#!/usr/bin/env python3
"""Makes the reference of PetscMuon from the comments and the calls in its sources.

  config/tools/manual.py man FOLDER      a man page for each function, type and option family, NAME.3 with links for several names
  config/tools/manual.py site FOLDER     what Sphinx needs: FOLDER/source has the manual and the generated pages, FOLDER/extra the sources that they link to
"""

import argparse
import collections
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checkstyle

DOC = os.path.join("share", "petscmuon", "doc")
# The classes in the order in which they are listed; a name belongs to the longest one that it starts with
CLASSES = [
  ("Muon", "the optimizer"), ("MuonLayer", "a parameter and its optimizer"), ("MuonLMO", "norms and steps in their balls"), ("MuonPolar", "polar factors"),
  ("MuonCompressor", "messages"), ("MuonExchange", "owners of layers and the ways of messages"), ("MuonAssembly", "whole matrices from distributed rows"), ("TaoMuon", "the type of TAO"), ("PetscMuon", "the library")
]
# The keys by which types are chosen
FAMILIES = {"MuonLMO": "lmo_type", "MuonPolar": "polar_type", "MuonCompressor": "compressor", "MuonExchange": "exchange_type", "MuonLayer": "type", "Muon": "muon_type", "MuonAssembly": "assembly"}
MOST_LINKS = 12

class Bad(Exception):
  pass

# Text of a page: paragraphs, items and verbatim lines
Block = collections.namedtuple("Block", "kind text items")
Section = collections.namedtuple("Section", "title blocks")

class Reference(collections.namedtuple("Reference", "name kind summary collective sections level seealso prototype header path line group value")):
  @property
  def items(self):
    return [(section.title, name, text) for section in self.sections for block in section.blocks for name, text in block.items]

  @property
  def synopsis(self):
    if self.prototype:
      return "#include <%s>\n%s" % (self.header, self.prototype)
    return '#define %s "%s"' % (self.name, self.value) if self.value else ""

  @property
  def shown(self):
    """The name as text has it."""
    return "`%s%s`" % (self.name, "()" if self.kind in ("@", "@C") else "")

def unescape(text):
  """Colons that would end a line of sowing's are written with a backslash; in formulas that is a space of TeX's."""
  return "".join(part if i % 2 else part.replace("\\:", ":") for i, part in enumerate(re.split(r"(\$[^$]*\$|`[^`]*`)", text)))

def blocks_of(lines):
  """The blocks of some lines of a page."""
  blocks, verbatim = [], None
  for line in lines:
    item, last = re.match(r"[+.-] +(.*)$", line), blocks[-1] if blocks else Block("", [], [])
    if verbatim is not None:
      if line.strip() == ".ve":
        blocks.append(Block("verbatim", verbatim, []))
        verbatim = None
      else:
        verbatim.append(line)
    elif line.strip() == ".vb":
      verbatim = []
    elif not line.strip():
      blocks.append(Block("", [], []))
    elif item:
      if last.kind != "items":
        blocks.append(Block("items", [], []))
      name, dash, body = item.group(1).partition(" - ")
      blocks[-1].items.append([name.strip(), body] if dash else ["", item.group(1)])
    elif last.kind == "items":
      last.items[-1][1] += " " + line.strip()
    elif last.kind == "text":
      last.text.append(line.strip())
    else:
      blocks.append(Block("text", [line.strip()], []))
  if verbatim is not None:
    raise Bad(".vb without .ve")
  joined = lambda block: "\n".join(block.text) if block.kind == "verbatim" else unescape(" ".join(block.text))
  return [Block(block.kind, joined(block), [(unescape(name), unescape(body)) for name, body in block.items]) for block in blocks if block.kind]

def group_of(name):
  return max((short for short, _ in CLASSES if name.lower().startswith(short.lower())), key=len, default="Muon")

def prototype_of(page):
  """The declaration of what stands below a page: a function's head, a type's definition."""
  source = page.source.text[page.source.text.index(page.text) + len(page.text):]
  source = source[source.index("*/") + 2:].lstrip()
  if page.kind in ("@", "@C"):
    head = source[:source.index("{")]
    return re.sub(r"\s+", " ", re.sub(r"PETSC_(EXTERN|INTERN)\s+", "", head)).strip().replace("( ", "(")
  if page.kind in ("S", "E", "J"):
    match = re.match(r"(?:PETSC_EXTERN [^;]*;\s*)*(typedef\b(?:[^;{]*|[^{;]*\{.*?\}\s*\w+);)", source, re.S)
    return match.group(1).rstrip() if match else ""
  return ""

def read_references(sources):
  """{name: Reference} of all man pages of the library."""
  values = {name: value for s in sources for name, value in re.findall(r"^#define\s+(MUON\w+)\s+\"([^\"]+)\"", s.text, re.M)}
  found = {}
  for s in sources:
    header = re.search(r"/\*I\s+\"(\w+\.h)\"\s+I\*/", s.text)
    for page in checkstyle.man_pages(s):
      try:
        sections = checkstyle.sections_of(page)
        head = sections[0][2]
        paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", "\n".join(head).strip()) if p.strip()]
        summary = unescape(re.sub(r"^\w+ - ", "", paragraphs[0]))
        collective = paragraphs[1] if page.kind in ("@", "@C") and len(paragraphs) > 1 else ""
        # What stands between the first line and the first section, but whether it is collective
        rest = re.split(r"\n\s*\n", "\n".join(head).strip("\n"))[2 if collective else 1:]
        body = [Section("", blocks_of("\n\n".join(rest).split("\n")))]
        body += [Section(title, blocks_of([more] * bool(more) + lines)) for title, more, lines, _ in sections[1:] if title not in ("Level", ".seealso")]
        level = "".join(more for title, more, _, _ in sections if title == "Level")
        see = [name for title, more, lines, _ in sections if title == ".seealso" for name in re.findall(r"`(\w+)(?:\(\))?`", " ".join([more] + lines[1:]))]
        included = header.group(1) if header else os.path.basename(s.path) if s.path.startswith("include/") else "petscmuon.h"
        found[page.name] = Reference(page.name, page.kind, summary, collective, [section for section in body if section.blocks], level, see, prototype_of(page),
                                     included, s.path, page.line, group_of(page.name), values.get(page.name, ""))
      except Bad as error:
        raise Bad("%s:%d: %s: %s" % (s.path, page.line, page.name, error))
  return found

# Options
Option = collections.namedtuple("Option", "key argument default meaning choices function group kind")

def default_of(reference, item):
  """What a page says of the value that holds where nothing is set, or what the line of the option says."""
  texts = [block.text for section in reference.sections for block in section.blocks if block.kind == "text"]
  matches = [re.search(r"(?:^|, |; )([^,;(]+?) by default", item)] + [re.search(r"\bThe defaults? (?:is|are) ((?:[^.;,:]|\.(?=\w))+)", text) for text in texts]
  return next((match.group(1) for match in matches if match), "")

def read_rows(name):
  """The tables of parameters as config/tools/parameters.c prints them."""
  if not name or not os.path.exists(name):
    raise Bad("no table of parameters: make %s" % name)
  with open(name) as f:
    return [line.rstrip("\n").split("\t") for line in f]

def read_options(rows, references):
  """All options: the rows of parameters, and what pages document beside them, types, viewers and lists; in the order of the classes."""
  pages = [(page, name, text) for page in references.values() for title, name, text in page.items if "Options Database" in title]
  valued = lambda page: [references[v].value for _, item, _ in page.items for v in re.findall(r"\bMUON\w+", item) if v in references and references[v].value]
  types = {name: valued(page) for name, page in references.items() if page.kind == "J"}
  classes = {"lmo_polar_": "MuonPolar", "lmo_": "MuonLMO", "compressor_": "MuonCompressor", "muon_exchange_": "MuonExchange", "muon_layer_NAME_": "MuonLayer", "muon_layer_": "MuonLayer", "muon_": "Muon", "": "Muon"}
  found = {}
  for family, kind, name, default, choices, when, meaning in rows:
    key = "-" + family + name
    if key in found:
      kind = found[key].kind and found[key].kind + ", " + kind
    named = [page.name for page, item, _ in pages if re.match(r"%s(?!\w)" % checkstyle.documented_as(key), item)]
    function = min(named, key=lambda name: (references[name].kind == "MC", len(name))) if named else classes[family] + "SetFromOptions"
    if function not in references:  # layers are read with the optimizer
      function = "MuonSetFromOptions"
    choices = choices.split("|") if "|" in choices else [choices] if choices else []
    found[key] = Option(key, "", default, meaning + (" (before set-up)" if when == "before set-up" else ""), choices, function, classes[family], kind)
  for page, name, body in pages:
    key = re.match(r"-[\w.]+", name).group(0)
    if key in found or any(key.endswith(other[1:]) for other in found):
      continue
    listed = re.search(r"\(?([\w/]+(?:\|[\w/-]+)+)\)?", name + " " + body)
    choices = types.get(page.name.replace("Set", ""), []) or (listed.group(1).split("|") if listed else [])
    default = default_of(page, body)
    constant = references.get(default.strip("`"))
    meaning = unescape(re.sub(r",? [^,;(]+? by default", "", re.sub(r"\(\w+(\|\w+)+\)", "", body))).strip()
    argument = name[len(key):].strip().strip(",")
    found[key] = Option(key, "" if "|" in argument else argument, constant.value if constant and constant.value else default, meaning[:1].upper() + meaning[1:], choices, page.name, group_of(page.name), "")
  return sorted(found.values(), key=lambda option: ([short for short, _ in CLASSES].index(option.group), option.kind != "", option.kind))

def shown_key(option):
  """Compressors have no family of their own; what stands in the table is that of the messages up."""
  return re.sub(r"^-compressor", "-ef21_compressor", option.key)

def explained_in():
  """{key: page of the manual that names it most}; those of figures, of languages and of old names explain no option."""
  counts = collections.defaultdict(dict)
  for name in sorted(os.listdir(os.path.join(checkstyle.ROOT, DOC))):
    if name.endswith(".md") and not re.match("from-|performance|index|policies|languages|trouble|tutorials|translate|honest|install", name):
      with open(os.path.join(checkstyle.ROOT, DOC, name), encoding="utf-8") as f:
        text = f.read()
      for key in re.findall(r"(?<![\w-])-((?:muon|lmo|ef21|ef14|sign|local)_[a-z0-9_]*[a-z0-9])", text):
        if name != "checkpoints.md" or re.search("checkpoint|restart", key):
          counts[key][name] = counts[key].get(name, 0) + 1 + (text.count("`-%s`" % key) > 0)
  return {key: max(found, key=found.get) for key, found in counts.items()}

def options_markdown(rows, references):
  """The page with the table of options."""
  out = [
    "# Options", "",
    "This page is printed by the library itself, from its tables of parameters.", "",
    "A key is read with the optimizer's prefix, `MuonSetOptionsPrefix()`.",
    "Then it is read once more for each layer: `-muon_layer_NAME_` before an `-lmo_` key or an `-ef21_compressor` key speaks to the layer called NAME alone.",
    "The keys of compressors stand behind `-ef21_` for the messages from the workers to the servers, and behind `-ef21_server_` for the way back; with `-muon_type ef14` behind `-ef14_` and `-ef14_server_`.",
    "SLEPc's keys stand behind `-lmo_svd_`, `-lmo_polar_svd_` and `-ef21_compressor_svd_`.", "",
    "A key that begins like one of ours and that nothing reads is named before the first step, with the nearest that exists.", ""
  ]
  group, explained = None, explained_in()
  cell = lambda text: text.replace("|", "\\|").replace("\n", " ")
  for option in read_options(rows, references):
    if option.group != group:
      group = option.group
      out += ["", "## `%s`: %s" % (group, dict(CLASSES)[group]), "", "| key | default | meaning | page |", "|---|---|---|---|"]
    key = shown_key(option)
    meaning = ": ".join([option.meaning] + [", ".join("`%s`" % c for c in option.choices)] * bool(option.choices))
    page = explained.get(key[1:], "")
    meaning += " (type `%s` alone)" % option.kind if option.kind and option.kind not in key else ""
    out.append('| <span id="%s"></span>`%s` | %s | %s | %s |' % (key[1:], (key + " " + option.argument).strip(), cell(option.default), cell(meaning), ", ".join(["[%s](%s)" % (page[:-3], page)] * bool(page) + [references[option.function].shown])))
  return "\n".join(out + [""])

# Where functions are used
def uses_of(sources, references):
  """{name: [(path, line)]} of the tutorials and the tests that use what a page describes, tutorials first."""
  places = collections.defaultdict(dict)
  for s in sources:
    if not s.path.endswith((".c", ".h", ".F90")) or not s.path.startswith(("tutorials/", "tests/")):
      continue
    for number, line in enumerate(s.code_lines if s.is_c else s.lines, 1):
      for word in re.findall(r"\b(?:Petsc|Tao|TAO)?M(?:uon|UON)\w*", line):
        places[word].setdefault(s.path, number)
    # Types are chosen by their names
    for name, page in references.items():
      match = page.kind == "MC" and page.value and re.search(r"%s %s\b" % (FAMILIES.get(page.group, "no such"), re.escape(page.value)), s.text)
      if match:
        places[name].setdefault(s.path, s.line_of(match.start()))
  order = lambda place: (not place[0].startswith("tutorials/"), place[0])
  return {name: sorted(where.items(), key=order) for name, where in places.items()}

def used_in(page, uses):
  """(title, [(path, line)], how many more there are) of the tutorials and of the tests that use what a page describes."""
  for title in ("Tutorials", "Tests"):
    chosen = [place for place in uses.get(page.name, []) if place[0].startswith(title.lower() + "/")]
    if chosen:
      yield title, chosen[:MOST_LINKS], " and %d more" % (len(chosen) - MOST_LINKS) if len(chosen) > MOST_LINKS else ""

# Formulas as text, for terminals and for sites without MathJax
MATHJAX = ("MathJax.js", "jax/input/TeX", "jax/element", "jax/output/SVG/jax.js", "jax/output/SVG/config.js", "jax/output/SVG/autoload", "jax/output/SVG/fonts/TeX", "extensions")
TEX = {"|": "||", "langle": "<", "rangle": ">", "ell": "l", "infty": "inf", "leq": "<=", "le": "<=", "ge": ">=", "cdot": "*", "times": "x", "sharp": "#", "partial": "d", "leftarrow": "<-", ",": " ", "{": "{", "}": "}"}
TEX.update((name, name) for name in "sigma nu omega alpha beta mu epsilon eta lambda Sigma sum in min max arctan".split())

def tex_text(text):
  """The few things of TeX that formulas of the pages use as text, from the inside out."""
  def symbol(match):
    if match.group(1) not in TEX:
      raise Bad("'%s' in a formula is not known" % match.group(0))
    return TEX[match.group(1)]

  text, before = text.replace("\\{", "\0").replace("\\}", "\1"), None
  while text != before:
    before = text
    for pattern, made in ((r"\\(?:mathrm|operatorname|mathbf|text)\{([^{}]*)\}", r"\1"), (r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)"), (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)"), (r"([_^])\{([^{}]|\\[a-z]+)\}", r"\1\2"),
                          (r"([_^])\{([^{}]*)\}", r"\1(\2)")):
      text = re.sub(pattern, made, text)
  return re.sub(r"\\([A-Za-z]+|.)", symbol, re.sub(r"[{}]", "", text)).replace("\0", "{").replace("\1", "}")

# Markdown
def rich(text, mathjax=False):
  """Inline text as Markdown; conf.py links what stands in code type."""
  parts = re.split(r"(\$[^$]+\$|`[^`]+`)", text)
  return "".join(("$%s$" % part[1:-1].strip() if mathjax else "`%s`" % tex_text(part[1:-1])) if part[:1] == "$" else part if part[:1] == "`" else re.sub(r"([\\*_<>\[\]#|&])", r"\\\1", part) for part in parts)

def page_markdown(page, uses, linked, mathjax=False):
  rich = lambda text: globals()["rich"](text, mathjax)
  out = ["---", "orphan: true", "---", "", "# " + page.name, "", rich(page.summary), ""]
  out += ["## Synopsis", "", "```c", page.synopsis, "```", ""] * bool(page.synopsis)
  out += [page.collective, ""]
  for section in page.sections:
    out += ["## " + section.title, ""] * bool(section.title)
    for block in section.blocks:
      if block.kind == "text":
        out += [rich(block.text), ""]
      elif block.kind == "verbatim":
        out += ["```text", block.text, "```", ""]
      out += ["- " + "**%s**: " % rich(name) * (name not in ("", "*")) + rich(text) for name, text in block.items] + [""]
  out += ["## Level", "", page.level, ""] + ["## See also", "", ", ".join("`%s`" % name for name in page.seealso), ""] * bool(page.seealso)
  for title, chosen, more in list(used_in(page, uses)) + [("Source", [(page.path, page.line)], "")]:
    linked.update(path for path, _ in chosen)
    out += ["## " + title, "", ", ".join("`%s` (line %d)" % place for place in chosen) + more, ""]
  return "\n".join(out)

# roff
def roff(text):
  text = re.sub(r"\$([^$]+)\$", lambda m: tex_text(m.group(1)), text)
  text = text.replace("\\", "\\e").replace("-", "\\-")
  text = re.sub(r"`([^`]+)`", r"\\fB\1\\fP", text)
  return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))

def page_roff(page, uses, version):
  quoted = lambda text: '"%s"' % text.replace('"', '""')
  out = ['.TH %s 3 "" "PetscMuon %s" "PetscMuon"' % (quoted(page.name), version), ".SH NAME", "%s \\- %s" % (page.name, roff(page.summary))]
  out += [".SH SYNOPSIS", ".nf", roff(page.synopsis), ".fi"] * bool(page.synopsis)
  out += [".PP", roff(page.collective)] * bool(page.collective)
  for section in page.sections:
    out.append(".SH " + (section.title or "Description").upper())
    for block in section.blocks:
      if block.kind == "verbatim":
        out += [".PP", ".nf", roff(block.text), ".fi"]
      elif block.kind == "text":
        out += [".PP", roff(block.text)]
      for name, text in block.items:
        out += [".TP", "\\fB%s\\fP" % roff(name).replace("\\fB", "").replace("\\fP", "") if name and name != "*" else "\\(bu", roff(text)]
  if page.seealso:
    out += [".SH SEE ALSO", ", ".join("\\fB%s\\fP(3)" % name for name in page.seealso)]
  # The tutorials are installed, the tests are not
  where = {"Tutorials": ("EXAMPLES", "in share/petscmuon of the installation"), "Tests": ("TESTS", "in the source of PetscMuon")}
  for title, chosen, more in used_in(page, uses):
    out += [".SH " + where[title][0], roff("%s%s, %s" % (", ".join(path for path, _ in chosen), more, where[title][1]))]
  return "\n".join(out + [""])

# What is written
def write(path, text):
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, "w", encoding="utf-8") as f:
    f.write(text)

def read_tree(root):
  names = [name for name in checkstyle.all_files(root) if name.startswith(("src/", "include/", "tests/", "tutorials/")) and name.endswith((".c", ".h", ".F90"))]
  sources, _ = checkstyle.read_sources(root, names)
  references = read_references([s for s in sources if s.is_library])
  return sources, references

def write_man(folder):
  sources, references = read_tree(checkstyle.ROOT)
  uses = uses_of(sources, references)
  version = "%d.%d.%d" % checkstyle.version_of("".join(s.text for s in sources if s.path == "include/petscmuonversion.h"))
  for page in references.values():
    write(os.path.join(folder, page.name + ".3"), page_roff(page, uses, version))
  return len(references)

def functions_markdown(references, mathjax):
  """The page that lists all pages of the reference, by class."""
  out = ["# Functions", "", "Every function has a page. It says on which ranks the function is called, which options belong to it, and which tutorials and tests use it.", ""]
  for short, what in CLASSES:
    mine = sorted((page for page in references.values() if page.group == short), key=lambda page: page.name)
    if mine:
      out += ["## `%s`: %s" % (short, what) if short in references else "## %s" % what.capitalize(), ""]
    for title, wanted in (("Functions", ("@", "@C")), ("Types that can be chosen", ("MC",)), ("Data types", ("S", "E", "J"))):
      lines = ["- %s: %s" % (page.shown, rich(page.summary, mathjax)) for page in mine if page.kind in wanted]
      out += ["### " + title, ""] * bool(lines) + lines + [""] * bool(lines)
  return "\n".join(out)

def readme_markdown(linked):
  """The README as the first page, and the lists of pages behind it; what is no page is the text of the source."""
  with open(os.path.join(checkstyle.ROOT, "README.md"), encoding="utf-8") as f, open(os.path.join(checkstyle.ROOT, DOC, "index.md"), encoding="utf-8") as g:
    text, lists = f.read().replace("](%s/" % DOC, "]("), g.read()
  def link(match):
    path = match.group(2) if match.group(2) in linked else match.group(2).rstrip("/") + "/README.md"
    return '<a class="reference internal" href="source/%s.txt">%s</a>' % (path, match.group(1)) if path in linked else match.group(0)
  return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#:]+)\)", link, text) + lists[lists.index("\n```"):]

def write_site(folder, rows, mathjax):
  """The folder's source for Sphinx and its extra files."""
  sources, references = read_tree(checkstyle.ROOT)
  uses, extra, linked = uses_of(sources, references), os.path.join(folder, "extra"), set()
  shutil.rmtree(folder, ignore_errors=True)
  shutil.copytree(os.path.join(checkstyle.ROOT, DOC), os.path.join(folder, "source"), ignore=shutil.ignore_patterns("__pycache__"))
  write(os.path.join(folder, "source", "options.md"), options_markdown(rows, references))
  write(os.path.join(folder, "source", "functions.md"), functions_markdown(references, mathjax))
  os.makedirs(os.path.join(folder, "static"))
  for name in MATHJAX if mathjax else ():
    copy = shutil.copytree if os.path.isdir(os.path.join(mathjax, name)) else shutil.copy
    copy(os.path.join(mathjax, name), os.makedirs(os.path.dirname(os.path.join(folder, "static", "mathjax", name)), exist_ok=True) or os.path.join(folder, "static", "mathjax", name))
  for page in references.values():
    write(os.path.join(folder, "source", "man", page.name + ".md"), page_markdown(page, uses, linked, mathjax))
  texts, _ = checkstyle.read_sources(checkstyle.ROOT, [name for name in checkstyle.all_files(checkstyle.ROOT) if re.match(r"((tutorials|src|tests|share)/.*|[A-Z_]+)\.md$|LICENSE$|CITATION\.cff$", name) and name != "README.md" and not name.startswith(DOC)])
  linked.update([s.path for s in sources if s.path.startswith("tutorials/")] + [s.path for s in texts])
  for s in sources + texts:
    if s.path in linked:
      write(os.path.join(extra, "source", s.path + ".txt"), s.text)
  write(os.path.join(folder, "source", "index.md"), readme_markdown(linked))
  # What the manual may name and where that is, for conf.py
  named = lambda page: re.findall(r"MUON\w+", " ".join([page.prototype] + [item for _, item, _ in page.items]))
  targets = {name: "man/%s.html" % page.name for page in references.values() if page.kind in ("E", "J") for name in named(page)}
  targets.update({name: "man/%s.html" % name for name in references})
  targets.update({"-" + key: "options.html#" + key for key in (shown_key(option)[1:] for option in read_options(rows, references))})
  targets.update({path: "source/%s.txt" % path for path in linked})
  write(os.path.join(folder, "source", "names.txt"), "".join("%s %s\n" % target for target in sorted(targets.items())))
  return len(references)

def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("what", choices=("man", "site"))
  parser.add_argument("folder")
  parser.add_argument("--parameters", default="", help="what config/tools/parameters.c prints")
  parser.add_argument("--mathjax", default="", help="the folder of MathJax 2.7, for the formulas of a site")
  options = parser.parse_args()
  try:
    print("%d pages" % (write_man(options.folder) if options.what == "man" else write_site(options.folder, read_rows(options.parameters), options.mathjax)))
  except Bad as error:
    sys.exit("manual.py: %s" % error)

if __name__ == "__main__":
  main()
