"""Write the parts of pages that come from the program: commands, data sets, settings of recipes.

Run it after a change of either, `python docs/make_reference.py`; a test checks the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import astuple, fields
from inspect import getdoc
from typing import Any, get_type_hints

from markers import Maker, write
from typer.main import get_command

from nodewise.cli.app import app
from nodewise.data.published.catalog import DATASETS, Dataset, GraphSizes
from nodewise.training.recipe import Recipe, load_recipe, recipe_names

_ATTRIBUTE = re.compile(r"^    (\w+): ((?:.+\n?)(?:        .+\n?)*)", re.MULTILINE)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The command and all below it, each with the words that call it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


def reference() -> str:
    """A section for every command."""
    return "\n\n".join(section(*found) for found in commands(get_command(app), "nodewise"))


def section(path: str, command: Any) -> str:
    """One command: how it is called, what it does, its options."""
    shown = [param for param in command.params if not param.hidden]
    parts = [f"## {path}", f"```text\n{_usage(path, command, shown)}\n```", command.help or ""]
    for panel in dict.fromkeys(_panel(param) for param in shown):
        parts.append(_table(panel, [param for param in shown if _panel(param) == panel]))
    return "\n\n".join(parts)


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _panel(param: Any) -> str:
    return param.rich_help_panel or ("Arguments" if _is_argument(param) else "Options")


def _usage(path: str, command: Any, params: list[Any]) -> str:
    arguments = [
        param.name.upper() if param.required else f"[{param.name.upper()}]"
        for param in params
        if _is_argument(param)
    ]
    below = ["COMMAND"] if "commands" in vars(command) else []
    return " ".join([path, "[OPTIONS]", *arguments, *below])


def _table(panel: str, params: list[Any]) -> str:
    rows = [f"| `{_names(param)}` | {param.help or ''} | {_default(param)} |" for param in params]
    return "\n".join([f"| {panel} | | default |", "|---|---|---|", *rows])


def _names(param: Any) -> str:
    if _is_argument(param):
        return str(param.name.upper())
    return "/".join([", ".join(param.opts), *param.secondary_opts])


def _default(param: Any) -> str:
    """Empty where there is none, and for switches, which are off."""
    if param.default is None or isinstance(param.default, bool):
        return ""
    return f"`{param.default}`"


def datasets() -> str:
    """A row for every data set."""
    head = "| data set | nodes | edges | features | classes | default split | source |"
    return "\n".join([head, "|---|--:|--:|--:|--:|---|---|", *map(_dataset_row, DATASETS.values())])


def _dataset_row(dataset: Dataset) -> str:
    counts = dataset.counts or GraphSizes.of(dataset.read({}))
    sizes = " | ".join(f"{size:,}" for size in astuple(counts))
    split = "`random`" if dataset.default_stored is None else "`public`"
    source = dataset.source.removeprefix("https://github.com/")
    link = source if source == dataset.source else f"[{source}]({dataset.source})"
    return f"| `{dataset.name}` | {sizes} | {split} | {link} |"


def meanings(group: type) -> dict[str, str]:
    """What the keys of a part of a recipe mean, from its docstring."""
    _, _, attributes = (getdoc(group) or "").partition("Attributes:\n")
    return {key: " ".join(text.split()) for key, text in _ATTRIBUTE.findall(attributes)}


def settings(model: str) -> dict[str, tuple[Any, ...]]:
    """Every key with its value under each recipe, on a graph of the user's."""
    found = [load_recipe(recipe, model).every_setting for recipe in recipe_names()]
    return {key: tuple(recipe[key] for recipe in found) for key in found[0]}


def recipe_table(model: str, beside: str | None = None) -> str:
    """A table for each part of a recipe; with `beside`, only keys that the models do not share."""
    ours, others = settings(model), {} if beside is None else settings(beside)
    names = recipe_names()
    groups = [pair for pair in get_type_hints(Recipe).items() if pair[0] != "name"]
    tables = []
    for name, group in groups:
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


MAKERS: dict[str, Maker] = {"commands": reference, "datasets": datasets, "recipe": recipe_table}

if __name__ == "__main__":
    write(MAKERS)
