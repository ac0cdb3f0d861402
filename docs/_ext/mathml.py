"""Equations as MathML, made when the site is built: no script, and nothing from elsewhere."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

_TAG = re.compile(r"\\tag\{(.*?)\}")
# Bars of a norm are as high as a letter, and a colon between two terms is a relation.
_SIGNS = {
    "<mo>&#x02016;</mo>": '<mo stretchy="false">&#x02016;</mo>',
    "<mi>:</mi>": '<mo lspace="0.28em" rspace="0.28em">:</mo>',
}


def _mathml(tex: str, display: str) -> str:
    found = convert(tex, display=display)
    for sign, better in _SIGNS.items():
        found = found.replace(sign, better)
    return found


def inline(tex: str) -> str:
    """An expression within a line."""
    return _mathml(tex, "inline")


def block(tex: str) -> str:
    """An expression on a separate line, with its number at the right."""
    tag = _TAG.search(tex)
    number = f'<span class="eqno">({escape(tag[1])})</span>' if tag else ""
    return f'<div class="math">{number}{_mathml(_TAG.sub("", tex).strip(), "block")}</div>'


def _visit_inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(inline(node.astext()))
    raise nodes.SkipNode


def _visit_block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(block(node.astext()))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
