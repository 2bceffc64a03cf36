import os
import sys

sys.path.insert(0, os.path.abspath("../src"))  # noqa: PTH100

project = "Kiosk"
author = "The kiosk team"
version = "2.4"
release = version + ".1"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.extlinks"]
extensions += ["sphinx.ext.todo"]
templates_path = ["_templates"]
exclude_patterns = ["parts", "**/draft-*"]
html_theme = "basic"
html_baseurl = "https://docs.example.com/kiosk/"
html_show_sourcelink = False
extlinks = {"issue": ("https://tracker.example.com/%s", "issue %s")}
default_role = "code"
rst_prolog = """
.. |vendor| replace:: Example Kiosks
"""
rst_epilog = """
.. |paper| replace:: thermal paper
"""
