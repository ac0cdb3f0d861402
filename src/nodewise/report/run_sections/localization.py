"""The section of a run's page on the nodes with the strongest and the weakest localization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.report.page import Page
from nodewise.report.run_sections.diagnostic_plots import local_map, localization_histogram
from nodewise.report.run_sections.records import RunGroup
from nodewise.report.style import to_svg


def add_localization(page: Page, group: RunGroup) -> None:
    """Add how far nodes' local weights are from the global one, of the best run."""
    run = group.best
    about = run.diagnostics or {}
    found = about.get("localization")
    if found is None:
        return
    page.heading("The most and the least localized nodes")
    page.paragraph(
        "In the first layer each node v has a local weight, the global one scaled by a_v and "
        "shifted by b_v. Its distance is the mean square of a_v - 1 plus that of b_v: zero where "
        f"the node uses the global weight as it is. The median is {found['median']:.3g}."
        f"{group.which_run}"
    )
    page.figure(to_svg(localization_histogram(found["histogram"])), "All nodes by distance.")
    if "map" in found:  # earlier releases wrote none
        page.figure(
            to_svg(local_map(found["map"], about.get("classes", []))),
            f"(a_v - 1, b_v) of {len(found['map']['nodes']):,} nodes on their principal "
            "axes, by predicted class; the star is the global weight. The explorer shows all.",
        )
    columns = ("node", "distance", "of scales", "of shifts", "neighbors", "label", "prediction")
    for title, key in (("Most localized", "most"), ("Least localized", "least")):
        page.paragraph(f"{title}:")
        page.table(columns, [_node(about) for about in found[key]], ("label", "prediction"))


def _node(about: Mapping[str, Any]) -> list[str]:
    numbers = (f"{about[key]:.3g}" for key in ("distance", "scale", "shift"))
    label = "" if about["label"] is None else about["label"]
    return [str(about["id"]), *numbers, f"{about['neighbors']:,}", label, about["prediction"]]
