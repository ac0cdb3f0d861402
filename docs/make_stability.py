"""Write the lists on the page about stability: public names, and the keys of our own files.

Run it after a change that is meant, `python docs/make_stability.py`; a test fails before, so that
no name, argument or key changes silently.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any, ForwardRef

from markers import Maker, write

import nodewise
from nodewise import models, nn
from nodewise.data.splits import split
from nodewise.data.stores import meta
from nodewise.data.tables import preprocessing
from nodewise.experiments import run_record
from nodewise.experiments.auto import choice
from nodewise.experiments.search import folder
from nodewise.runs import formats, manifest

_PACKAGES: tuple[ModuleType, ...] = (nodewise, nn, models)
_FILES: Mapping[str, tuple[type, ...]] = {
    "config.toml": (formats.RunConfig, formats.GraphConfig, formats.RefitConfig),
    "result.json": (formats.Result,),
    "history.jsonl, each line": (formats.HistoryLine,),
    "diagnostics.json": (
        formats.Diagnostics,
        formats.ReliabilityBin,
        formats.Curves,
        formats.CurveNumbers,
        formats.Unlabeled,
        formats.Localization,
        formats.LocalizedNode,
        formats.Histogram,
    ),
    "manifest.json": (manifest.Manifest,),
    "checkpoint/last.safetensors, its numbers": (formats.Checkpoint, formats.RandomState),
    "controls.json": (formats.Controls, formats.Control),
    "choice.json": (choice.ChoiceRecord, choice.Entrant),
    "job.json": (run_record.JobFields,),
    "search.json": (folder.SearchConfig,),
    "preprocessing.json": (preprocessing.PreprocessingContent, *preprocessing.KINDS.values()),
    "store.json": (meta.StoreMeta, meta.Reading),
    "a split": (split.SplitContent,),
}


def public_names() -> str:
    """Every public name, a function or a class with its arguments; those with `=` are optional."""
    lines = [
        f"{package.__name__}.{name}{_arguments(getattr(package, name))}"
        for package in _PACKAGES
        for name in package.__all__
    ]
    return "\n".join(["```text", *lines, "```"])


def _arguments(thing: Any) -> str:
    if not callable(thing):
        return ""
    shown = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # a type that Python does not know the arguments of
        return "(...)"
    words = [
        f"{shown.get(one.kind, '')}{one.name}{'' if one.default is one.empty else '='}"
        for one in parameters
    ]
    return f"({', '.join(words)})"


def file_formats() -> str:
    """Every file of ours, with its keys and what they hold."""
    parts = []
    for file, kinds in _FILES.items():
        lines = [line for kind in kinds for line in _keys(kind)]
        parts.append("\n".join([f"`{file}`", "", "```text", *lines, "```"]))
    return "\n\n".join(parts)


def _keys(kind: type) -> list[str]:
    hints = kind.__annotations__
    if is_dataclass(kind):
        hints = {field.name: field.type for field in fields(kind)}
    return [kind.__name__, *(f"  {key}: {_words(hint)}" for key, hint in hints.items())]


def _words(hint: Any) -> Any:
    """The type as the source says it: a TypedDict wraps the words in a ForwardRef."""
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint


MAKERS: dict[str, Maker] = {"public-names": public_names, "file-formats": file_formats}

if __name__ == "__main__":
    write(MAKERS)
