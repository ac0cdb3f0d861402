"""How the documentation is built: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from nodewise import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "nodewise"
author = "The nodewise developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "mathml",
    "sphinx.ext.napoleon",
    "bars_in_docstrings",
    "recorded_plots",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

# Docstrings mark code as Markdown does, with single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_custom_sections = ["Shapes"]
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"nodewise {__version__}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["math.css"]
html_math_renderer = "mathml"
