#!/usr/bin/env python3
#TEST timeoutfactor: 4
"""Builds the manual without a warning. All its links lead somewhere, and it asks nobody else for scripts, styles or pictures."""

import html
import os
import re
import subprocess
import sys
import unittest
from urllib.parse import unquote

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Site(unittest.TestCase):
  @classmethod
  def setUpClass(cls):
    # Warnings are errors there
    cls.done = subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "-s", "-C", ROOT, "docs", "DOCS=" + os.path.abspath("docs"), "BUILD=" + os.environ["BUILD"]], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True)
    cls.top = os.path.abspath(os.path.join("docs", "html"))
    cls.pages = {}
    for folder, _, files in os.walk(cls.top):
      for name in files:
        if name.endswith(".html"):
          path = os.path.join(folder, name)
          with open(path, encoding="utf-8") as f:
            cls.pages[os.path.relpath(path, cls.top)] = f.read()

  def test_built(self):
    self.assertEqual(self.done.returncode, 0, self.done.stdout)
    for name in ("index.html", "concepts.html", "options.html", "functions.html", "man/MuonStep.html"):
      self.assertIn(name, self.pages)
    self.assertTrue(os.path.exists(os.path.join(self.top, "source", "tutorials", "ex1.c.txt")))
    self.assertIn('href="man/MuonStep.html"', self.pages["concepts.html"])
    self.assertIn('href="options.html#lmo_type"', self.pages["norms.html"])
    # The first page is the README; options name the page that explains them; each page has a title of its own
    self.assertIn("PetscMuonInitialize", self.pages["index.html"])
    self.assertRegex(self.pages["options.html"], r'(?s)id="lmo_type">(?:(?!</tr>).)*href="norms.html"')
    titles = [(re.findall(r"<title>(.*?)</title>", text, re.S) or [name])[0] for name, text in self.pages.items()]
    self.assertEqual(len(set(titles)), len(titles), [title for title in set(titles) if titles.count(title) > 1])
    # Formulas are drawn by the site's own MathJax, or are text
    self.assertEqual("math" in self.pages["man/MuonLMOComputeDualNorm.html"], os.path.exists(os.path.join(self.top, "_static", "mathjax", "MathJax.js")))

  def test_links(self):
    anchors = {name: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for name, text in self.pages.items()}
    for name, text in self.pages.items():
      for kind, link in re.findall(r'\b(href|src)="([^"]*)"', text):
        link = html.unescape(link)
        self.assertFalse(kind == "src" and re.match(r"\w+:|//", link), "%s fetches %s" % (name, link))
        if re.match(r"\w+:|//", link):
          continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), unquote(path))) if path else name
        self.assertTrue(os.path.exists(os.path.join(self.top, target)), "%s links to %s" % (name, link))
        if anchor and target in anchors:
          self.assertIn(unquote(anchor), anchors[target], "%s links to %s" % (name, link))
      for link in re.findall(r"<link [^>]*>", text):
        self.assertNotRegex(link, r'href="(\w+:)?//', name)


if __name__ == "__main__":
  unittest.main()
