"""The directive `recipe-table MODEL`: its settings under every recipe, read from the recipes.

With `:beside: OTHER` only the settings that another model does not share are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from inspect import getdoc
from typing import Any, ClassVar, get_type_hints

from docutils.nodes import Node
from docutils.parsers.rst.directives import unchanged
from sphinx.util.docutils import SphinxDirective

from nodewise.training.recipe import Recipe, load_recipe, recipe_names

_ATTRIBUTE = re.compile(r"^    (\w+): ((?:.+\n?)(?:        .+\n?)*)", re.MULTILINE)


def groups() -> Iterator[tuple[str, type]]:
    """The parts of a recipe by name."""
    hints = get_type_hints(Recipe)
    return ((name, hint) for name, hint in hints.items() if name != "name")


def meanings(group: type) -> dict[str, str]:
    """What the keys of a part mean, from its docstring."""
    _, _, attributes = (getdoc(group) or "").partition("Attributes:\n")
    return {key: " ".join(text.split()) for key, text in _ATTRIBUTE.findall(attributes)}


def settings(model: str) -> dict[str, tuple[Any, ...]]:
    """Every key with its value under each recipe, on a graph of one's own."""
    found = [load_recipe(recipe, model).settings for recipe in recipe_names()]
    return {key: tuple(recipe[key] for recipe in found) for key in found[0]}


def table(model: str, beside: str | None = None) -> str:
    """The settings as a table for each part of a recipe; keys that are shared may be left out."""
    ours, others = settings(model), {} if beside is None else settings(beside)
    names = recipe_names()
    tables = []
    for name, group in groups():
        rows = [
            f"| `{key.name}` | {meanings(group)[key.name]} | {_cells(ours[key.name])} |"
            for key in fields(group)
            if ours[key.name] != others.get(key.name)
        ]
        head = f"| {name} | | {' | '.join(f'`{recipe}`' for recipe in names)} |"
        tables += ["\n".join([head, "|---|---|" + "---|" * len(names), *rows])] if rows else []
    return "\n\n".join(tables)


def _cells(values: tuple[Any, ...]) -> str:
    return " | ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


class RecipeTable(SphinxDirective):
    """Puts the tables where it stands."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"beside": unchanged}

    def run(self) -> list[Node]:
        """The tables as nodes of the page."""
        return self.parse_text_to_nodes(table(self.arguments[0], self.options.get("beside")))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("recipe-table", RecipeTable)
    return {"parallel_read_safe": True}
