"""Sphinx's settings for the manual; `make docs` puts the generated pages beside the written ones and calls Sphinx."""

import os
import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

project = "PetscMuon"
version = release = os.environ.get("PETSCMUON_VERSION", "")
extensions = ["myst_parser"]
HERE = os.path.dirname(os.path.abspath(__file__))
if os.path.isdir(os.path.join(HERE, "..", "static", "mathjax")):
  extensions.append("sphinx.ext.mathjax")
  myst_enable_extensions = ["dollarmath"]
  mathjax_path = "mathjax/MathJax.js"
  mathjax2_config = {"jax": ["input/TeX", "output/SVG"], "extensions": ["tex2jax.js"], "TeX": {"extensions": ["AMSmath.js", "AMSsymbols.js", "noErrors.js"]}, "showMathMenu": False, "messageStyle": "none",
                     "tex2jax": {"inlineMath": [["\\(", "\\)"]], "displayMath": [["\\[", "\\]"]], "processClass": "math", "ignoreClass": "body"}}
myst_heading_anchors = 3
exclude_patterns = []
# What config/tools/manual.py copied: the sources that the reference links to
html_extra_path = ["../extra"]
html_static_path = ["site.css", "../static"]
html_css_files = ["site.css"]
try:  # PETSc's theme, with contents at the right and a dark mode; what Debian's Sphinx has where it is not there
  import pydata_sphinx_theme
  html_theme = "pydata_sphinx_theme"
  html_sidebars = {"**": []}
  html_theme_options = {"header_links_before_dropdown": 4, "show_prev_next": True, "show_toc_level": 2, "footer_start": [], "footer_end": []} if pydata_sphinx_theme.__version__ > "0.13" else {}
except ImportError:
  html_theme = "alabaster"
  html_theme_options = {"description": "Muon optimizers for PETSc, with compressed messages", "page_width": "1150px", "sidebar_width": "230px"}
  html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = False
html_show_copyright = False
html_title = "PetscMuon %s" % release
smartquotes = False
pygments_style = "friendly"
highlight_language = "none"

with open(os.path.join(HERE, "names.txt")) as f:
  KNOWN = dict(line.split() for line in f)

FAMILIES = re.compile(r"-(muon|lmo|ef21|ef14|sign|tao_muon)(_|$)")


def key_of(key):
  """The key in the table of options for one in a text: those of a layer, of the way back and of SLEPc stand there once."""
  for pattern, put in ((r"^-muon_layer_[^_]+_(?=lmo_|ef21_|ef14_)", "-"), (r"^-muon_layer_[^_]+_", "-muon_layer_NAME_"), (r"^-ef(21|14)_(server_)?(?=compressor)", "-ef21_"), (r"_svd_\w+$", "_svd_type")):
    if key not in KNOWN:
      key = re.sub(pattern, put, key)
  return key


class LinkNames(SphinxPostTransform):
  """Functions, options and files in code type become links. A function or an option that does not exist is a warning."""

  default_priority = 400

  def run(self, **kwargs):
    for literal in list(self.document.findall(nodes.literal)):
      if isinstance(literal.parent, nodes.reference):
        continue
      text, target = literal.astext(), None
      name = re.match(r"((?:Petsc|Tao|TAO)?M(?:uon|UON)\w*)(\(\))?$", text)
      words = text.split()
      if name:
        target = KNOWN.get(name.group(1))
        if target is None and (name.group(2) or name.group(1).startswith("MUON")):
          logging.getLogger(__name__).warning("%s has no page", text, location=literal)
      elif words and FAMILIES.match(words[0]):
        target = KNOWN.get(key_of(words[0]))
        if target is None and not words[0].endswith(("_", "...")):
          logging.getLogger(__name__).warning("there is no option %s", words[0], location=literal)
      else:
        target = KNOWN.get(text)
      if target:
        reference = nodes.reference("", "", refuri="../" * self.env.docname.count("/") + target, internal=True)
        literal.replace_self(reference)
        reference += literal


def setup(app):
  app.add_post_transform(LinkNames)
  return {"parallel_read_safe": True, "parallel_write_safe": True}
