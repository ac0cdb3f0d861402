"""`nodewise datasets`: the data sets, with their sizes and whether they are present."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.cli.options import Json, Quiet, Root
from nodewise.cli.tables import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from nodewise.data.published.catalog import Dataset

_COLUMNS = {
    "nodes": "{:,}",
    "edges": "{:,}",
    "features": "{:,}",
    "classes": "{}",
    "density": "{:.2%}",
    "edge_homophily": "{:.3f}",
}


def datasets(root: Root = None, json: Json = False, quiet: Quiet = False) -> None:
    """List the data sets: sizes, density, homophily, and whether they are present.

    Density is the share of features that are not zero. Edge homophily is the share of edges whose
    two ends have the same label. Both are computed from the data if it is present; nothing is
    downloaded.

    **Examples**

    - `nodewise datasets`
    - `nodewise datasets --root ~/graphs`
    - `nodewise datasets --json | tail -n 1`
    """
    from nodewise.data.published.catalog import DATASETS
    from nodewise.data.published.files import data_root

    folder = data_root(root)
    rows = [_describe(dataset, folder) for dataset in DATASETS.values()]
    _print(_table(rows), None if quiet else f"raw files: {folder}")
    print_json({"root": str(folder), "datasets": rows}, json)


def _describe(dataset: Dataset, root: Path) -> dict[str, Any]:
    about = {"name": dataset.name, "license": dataset.license, "source": dataset.source}
    state, figures = _state_and_figures(dataset, root)
    return {**about, "present": state == "present", "state": state, **figures}


def _state_and_figures(dataset: Dataset, root: Path) -> tuple[str, dict[str, Any]]:
    from dataclasses import asdict

    from nodewise.data.datasets import edge_homophily, feature_density
    from nodewise.data.published.catalog import GraphSizes
    from nodewise.errors import RawFileError

    known = asdict(dataset.counts) if dataset.counts else {}
    if not dataset.present(root):
        return "absent", known
    try:
        graph = dataset.graph(root)
    except RawFileError:
        return "damaged", known
    measured = {"density": feature_density(graph), "edge_homophily": edge_homophily(graph)}
    return "present", {**asdict(GraphSizes.of(graph)), **measured}


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("data set", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column.replace("_", " "), justify="right")
    table.add_column("state")
    table.add_column("license")
    for row in rows:
        cells = [_cell(row.get(column), form) for column, form in _COLUMNS.items()]
        table.add_row(row["name"], *cells, row["state"], row["license"])
    return table


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _print(table: Table, footer: str | None) -> None:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = 100  # a pipe has no width; do not fold the rows at the usual 80
    console.print(table)
    if footer is not None:
        console.print(footer, highlight=False, soft_wrap=True, markup=False)
