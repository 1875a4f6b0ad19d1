"""How Sphinx makes the site from these pages: `make docs`.

Pages are plain Markdown that also reads well in a checkout, so what hangs below which page is said here (`chapters`).
"""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from pygments.lexers import JsonLexer, TextLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "journeyman"
author = "the journeyman authors"
version = release = installed_version("journeyman")
copyright = "the journeyman authors. Apache License 2.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "cells",
    "chapters",
    "listings",
    "mathml",
    "outside_links",
    "plain_docstrings",
]
exclude_patterns = ["_build", "_extensions", "_static"]
smartquotes_action = "qe"  # not "D", which makes a dash of the two in --force
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # type hints name much that has no page; docs/check.py looks at every link
suppress_warnings = ["ref.python"]  # names of arrays such as q, which several classes have

# Pages
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 600  # seconds for a cell: none needs nearly as long, unless the machine is busy
nb_merge_streams = True
chapters = {
    "how-it-works/index": [
        "Acquisition functions in practice <acquisition>",
        "Inference methods in practice <inference>",
        "ValueWalk <valuewalk>",
        "The variational baseline <variational>",
        "Models of the expert <experts>",
        "Certificates in practice <certificate>",
        "Bounds in numbers <bounds>",
        "criticism",
    ],
    "reproduction/README": [
        "reproduction/claims",
        "reproduction/which-function",
        "errata",
        "pac-eig",
        "entropy-bias",
    ],
    "performance": ["scale"],
    "contributing": ["release"],
    "trust": [
        "trust/*",
        "calibration/README",
        "calibration/experts/README",
    ],
}

# The API, from docstrings
default_role = "code-or-link"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
napoleon_use_param = False  # "epsilon, delta" is one entry, as it was written
napoleon_attr_annotations = False  # signatures say the types
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

# The site: nothing on it comes from elsewhere
html_theme = "furo"
html_title = "journeyman"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5c8c", "color-brand-content": "#0b5c8c"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Name the languages of code blocks that Pygments does not know."""
    app.add_lexer("csv", TextLexer)
    app.add_lexer("jsonl", JsonLexer)
