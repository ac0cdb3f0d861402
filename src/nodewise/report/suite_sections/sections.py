"""The function that builds the section of each suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from nodewise.errors import InputError
from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.ablation import ablation_section
from nodewise.report.suite_sections.cost import cost_section
from nodewise.report.suite_sections.pairs import pair_section
from nodewise.report.suite_sections.paper import paper_section
from nodewise.report.suite_sections.peers import peers_section
from nodewise.report.suite_sections.penalty import penalty_section
from nodewise.report.suite_sections.section import Section
from nodewise.report.suite_sections.tsne import tsne_section
from nodewise.report.suite_sections.variants import variants_section

SECTIONS: Final[dict[str, Callable[[Path, Suite], Section]]] = {
    "main": paper_section,
    "val100": paper_section,
    "ablation": ablation_section,
    "matched": pair_section,
    "neighbors": pair_section,
    "unknowns": variants_section,
    "loose": pair_section,
    "splits": pair_section,
    "fair": pair_section,
    "lambda": penalty_section,
    "decay": penalty_section,
    "cost": cost_section,
    "tsne": tsne_section,
    "peers": peers_section,
    "minibatch": pair_section,
}


def read_section(results: Path, name: str) -> Section:
    """The section of a suite, from a folder of tables of records.

    Raises:
        UnknownNameError: There is no such suite.
        InputError: There is no such folder.
    """
    suite = Suite.load(name)
    if not results.is_dir():
        raise InputError(
            "results",
            "is not a folder",
            value=str(results),
            way_out="name the folder that `nodewise reproduce` filled",
        )
    return SECTIONS[name](results, suite)
