"""The colors of all pages and plots, which the color-blind distinguish, light and dark."""

from __future__ import annotations

from typing import Final

# Okabe and Ito's palette, without its yellow, which is pale on white.
COLORS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
# The colors of a page by day and by night.
CSS: Final = """
:root { color-scheme: light dark; --ink: #1c1c1c; --pale: #555; --paper: #fff; --line: #dcdcdc;
        --shade: #f3f3f3; --link: #0a58a8; --alarm: #b3401a; --veil: rgba(255, 255, 255, .78); }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --pale: #b0b0b0; --paper: #17191c; --line: #3a3d42; --shade: #272a2f;
          --link: #82bcff; --alarm: #ff9d73; --veil: rgba(23, 25, 28, .78); } }
"""
