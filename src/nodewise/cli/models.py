"""`nodewise models`: every model by name, with its size."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nodewise.cli.options import Json, Quiet, Root
from nodewise.cli.tables import print_json, print_table

DatasetName = Annotated[
    str, typer.Option("--dataset", "-d", help="The data set that decides the sizes.")
]


def models(
    dataset: DatasetName = "cora", root: Root = None, json: Json = False, quiet: Quiet = False
) -> None:
    """List the models of `train`, with their parameters and the paper's.

    Sizes are those of the recipe `official`. Parameters are counted as in the paper: without
    biases, except that of GIN's MLP; for DeepWalk and Planetoid two vectors for each node, and the
    layers of Planetoid.

    **Examples**

    - `nodewise models`
    - `nodewise models --dataset citeseer --json`
    """
    from nodewise.data.published.catalog import GraphSizes, find_dataset
    from nodewise.data.published.files import data_root
    from nodewise.experiments.published import printed_parameters
    from nodewise.models.zoo import ZOO, build_model, paper_count
    from nodewise.training.recipe import load_recipe

    known = find_dataset(dataset)
    counts = known.counts or GraphSizes.of(known.graph(data_root(root)))
    rows: list[dict[str, Any]] = []
    for name in ZOO:
        recipe = load_recipe("official", name, dataset)
        sizes = (counts.features, counts.classes, counts.nodes)
        model = build_model(name, *sizes, **vars(recipe.architecture))
        rows.append(
            {
                "name": name,
                "parameters": paper_count(name, model),
                "paper_parameters": printed_parameters(name, dataset),
            }
        )
    cells = [[row["name"], f"{row['parameters']:,}", _thousands(row)] for row in rows]
    footer = "" if quiet else f"on {dataset}: {counts.features} features, {counts.classes} classes"
    print_table(("model", "parameters", "in the paper"), cells, footer)
    print_json({"dataset": dataset, "models": rows}, json)


def _thousands(row: dict[str, Any]) -> str:
    printed = row["paper_parameters"]
    return "" if printed is None else f"{printed // 1000}K"
