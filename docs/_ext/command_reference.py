"""The directive `command-reference`: every command of `nodewise`, told by the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils.nodes import Node
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from nodewise.cli.app import app as nodewise


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The command and all below it, each with the words that call it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


def markdown(path: str, command: Any) -> str:
    """A command's section: how it is called, what it does, what it takes."""
    shown = [param for param in command.params if not param.hidden]
    parts = [f"## {path}", f"```text\n{_usage(path, command, shown)}\n```", command.help or ""]
    for panel in dict.fromkeys(_panel(param) for param in shown):
        parts.append(_table(panel, [param for param in shown if _panel(param) == panel]))
    return "\n\n".join(parts)


def reference() -> str:
    """All sections, one after the other."""
    return "\n\n".join(markdown(*found) for found in commands(get_command(nodewise), "nodewise"))


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
    joined = ", ".join(param.opts)
    return "/".join([joined, *param.secondary_opts])


def _default(param: Any) -> str:
    """Empty where there is none, and for switches, which are off."""
    if param.default is None or isinstance(param.default, bool):
        return ""
    return f"`{param.default}`"


class CommandReference(SphinxDirective):
    """Puts the sections where it stands."""

    def run(self) -> list[Node]:
        """The sections as nodes of the page."""
        return self.parse_text_to_nodes(reference(), allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True}
