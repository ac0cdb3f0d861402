"""The table of convs and their localized twins, from `benchmarks/localized_twins.py`'s records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

Record = dict[str, Any]
FORMS = ("plain", "localized")


def read_twins(path: Path, dataset: str, part: str) -> list[Record]:
    """The records of a data set, of all its nodes or of those of the split."""
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return [one for one in records if (one["dataset"], one["part"]) == (dataset, part)]


def twins_table(records: Sequence[Record]) -> str:
    """A row for each conv, a column for each form of the features."""
    convs, features = _names(records, "conv"), _names(records, "features")
    lines = [f"| test accuracy, % | {' | '.join(features)} |", "|---" * (len(features) + 1) + "|"]
    for conv in convs:
        cells = [_cell(records, conv, each) for each in features]
        lines.append(f"| `{conv}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def twins_note(records: Sequence[Record], name: str) -> str:
    """How the numbers of the table were made."""
    counts = {
        len(_accuracies(records, conv, features, form))
        for conv in _names(records, "conv")
        for features in _names(records, "features")
        for form in FORMS
    }
    runs = " to ".join(map(str, sorted({min(counts), max(counts)})))
    largest = max(one["largest_scale"] for one in records if one["form"] == "localized")
    return (
        f"Plain / localized, on {records[0]['nodes']:,} nodes of {name}: means of {runs} runs of "
        f"{records[0]['epochs']} epochs. In the trained twins, scales differ from one by at most "
        f"{largest:.1f}."
    )


def _names(records: Sequence[Record], key: str) -> list[str]:
    """The values of a key, each once."""
    return list(dict.fromkeys(one[key] for one in records))


def _cell(records: Sequence[Record], conv: str, features: str) -> str:
    """Both means, or a dash for one without records."""
    found = [_accuracies(records, conv, features, form) for form in FORMS]
    return " / ".join(f"{100 * fmean(each):.1f}" if each else "-" for each in found)


def _accuracies(records: Sequence[Record], conv: str, features: str, form: str) -> list[float]:
    key = (conv, features, form)
    return [
        one["test_accuracy"]
        for one in records
        if (one["conv"], one["features"], one["form"]) == key
    ]
