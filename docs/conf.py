"""Sphinx: Markdown pages (MyST) in the theme furo; parts of them are generated from the code, see ``from_code/``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from estimator import __version__

project = "fom-estimator"
author = "the authors of fom-estimator"
release = version = __version__

extensions = [
    "myst_nb",  # brings myst_parser
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "from_code.extension",
    "mathml",
]
exclude_patterns = ["_build", "_parts", "results/*.md"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "auto"  # pages with code cells run; no others are notebooks
nb_execution_raise_on_error = True
nb_execution_timeout = 120

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r".*")]  # types of other packages, and modules that no page documents

html_math_renderer = "mathml"
smartquotes = False  # they would change options such as --json
html_theme = "furo"
html_title = f"fom-estimator {release}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
html_show_copyright = False
linkcheck_timeout = 20
linkcheck_retries = 2
