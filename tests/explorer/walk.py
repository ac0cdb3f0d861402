"""What a person does with the page, from opening it to going back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.explorer.browsing import Visit, timed

_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


@dataclass
class Times:
    """Seconds until the page answered."""

    paint: float = 0.0
    map: float = 0.0
    clicks: list[float] = field(default_factory=list)
    what_ifs: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"first paint {self.paint:.2f} s, map {self.map:.2f} s, "
            f"click {_in_words(self.clicks)}, what if {_in_words(self.what_ifs)}"
        )


def _in_words(times: list[float]) -> str:
    return f"{median(times):.2f} s (the slowest of {len(times)}: {max(times):.2f})"


def walk(visit: Visit, folder: Path, nodes: int, id: str) -> Times:
    """Open, search, click, lasso, filter, compare, what if, export, go back.

    Args:
        visit: The page, just opened.
        folder: Where files are saved.
        nodes: How many nodes the graph has.
        id: A node with neighbors and features.
    """
    times = Times(visit.wait(_PAINT) / 1000, visit.drawn)
    visit.says("caption", f"{nodes:,} nodes")
    search(visit, id)
    click(visit, times)
    lasso(visit)
    what_if(visit, id, times)
    compare(visit, id)
    go_back(visit)
    assert all(",corrected" in line for line in filter_and_save(visit, folder))
    assert visit.errors() == []
    return times


def search(visit: Visit, id: str) -> None:
    visit.type("search", "nobody")
    visit.says("#message", "not the id")
    visit.wait("document.getElementById('search').value == ''")
    visit.type("search", id)
    visit.shows(id)
    visit.says("#node", f"{id} is predicted")
    assert visit.browser.current_url.endswith(f"?node={id}")


def click(visit: Visit, times: Times) -> None:
    for x, y, node in visit.alone()[:4]:
        visit.click(x, y)
        times.clicks.append(timed(lambda node=node: visit.shows(node)))  # type: ignore[misc]
    assert len(times.clicks) > 2


def lasso(visit: Visit) -> None:
    visit.lasso()
    visit.says("caption", "in the lasso")
    visit.choose("color", "degree")  # the lasso ends with the map that it was drawn on
    visit.wait("location.href.includes('color=degree')")
    visit.wait("!document.querySelector('.rows caption').textContent.includes('lasso')")


def what_if(visit: Visit, id: str, times: Times) -> None:
    visit.type("search", id)
    visit.shows(id)
    visit.wait("document.querySelector('#after .barlayer .point')")
    level, graph = visit.find("#off input"), "document.querySelector('#after .js-plotly-plot')"
    changes = [level.click, level.click]
    changes += [lambda: visit.choose("drop", ""), lambda: visit.choose("zero", "")]
    for change in changes:
        visit.run(f"window.before = {graph}.data")
        change()
        # Bars of a prediction that is certain may stay as they are; they are drawn anew.
        times.what_ifs.append(timed(lambda: visit.wait(f"{graph}.data !== window.before")))
        visit.find("#answer").click()  # closes the list
    visit.wait("location.search.includes('drop=') && location.search.includes('zero=')")


def compare(visit: Visit, id: str) -> None:
    other = visit.find(".rows td button").text
    visit.type("other", other)
    visit.wait("document.querySelectorAll('#node > section').length == 2")
    visit.says("#node h2", f"Node {other}")


def go_back(visit: Visit) -> None:
    visit.browser.back()
    visit.wait("document.querySelectorAll('#node > section').length == 1")
    visit.browser.forward()
    visit.wait("document.querySelectorAll('#node > section').length == 2")


def filter_and_save(visit: Visit, folder: Path) -> list[str]:
    """The lines of the saved table, one for each node of the filter."""
    visit.choose("show", "corrected")
    visit.says(".rows caption", "localization corrected")
    visit.wait("location.href.includes('show=corrected')")
    count = int(visit.find(".rows caption").text.split()[0].replace(",", ""))
    lines = visit.save("#csv", folder, "nodes.csv").decode().splitlines()
    assert len(lines) == count + 1
    assert visit.save("#png", folder, "nodewise-map.png").startswith(b"\x89PNG")
    return lines[1:]
