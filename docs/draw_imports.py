"""Draw docs/images/imports.png: which package of nodewise imports which.

Arrows that follow from others are left out. Run it after a change of the packages:
`python docs/draw_imports.py`.
"""

from __future__ import annotations

import runpy
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from pictures import save

ROOT = Path(__file__).parents[1]
Graph = dict[str, set[str]]


def imported() -> Graph:
    """Each package, or module beside the packages, with those that its files import."""
    test = runpy.run_path(str(ROOT / "tests" / "test_architecture.py"))
    found: Graph = defaultdict(set)
    left_out = {"__init__", "__main__", *test["ROOT"]}
    for path, module in test["imports"]():
        ours = path.relative_to(test["SRC"]).parts[0].removesuffix(".py")
        theirs = test["package"](module)
        if not {ours, theirs} & left_out and ours != theirs:
            found[ours].add(theirs)
            found[theirs]
    return dict(found)


def below(graph: Graph, name: str) -> set[str]:
    """All that a package imports, also through others."""
    return graph[name].union(*(below(graph, other) for other in graph[name]))


def reduced(graph: Graph) -> Graph:
    """The graph without the arrows that follow from others."""
    return {
        name: {o for o in others if not any(o in below(graph, via) for via in others)}
        for name, others in graph.items()
    }


def depth(graph: Graph, name: str) -> int:
    """How many packages lie below one another under this one, at most."""
    return max((1 + depth(graph, other) for other in graph[name]), default=0)


def spine(graph: Graph) -> list[str]:
    """The longest chain of imports, from the top."""
    chain = [max(sorted(graph), key=lambda name: depth(graph, name))]
    while graph[chain[-1]]:
        chain.append(max(sorted(graph[chain[-1]]), key=lambda name: depth(graph, name)))
    return chain


def places(graph: Graph) -> dict[str, tuple[float, float]]:
    """The place of each package: above what it imports; at the right, what no other imports.

    Where two would have one place, one of them goes to the other side.
    """
    chain, imported_ones = spine(graph), set().union(*graph.values())
    sides = {name: -2.2 if name in imported_ones else 2.2 for name in graph if name not in chain}
    at: dict[str, tuple[float, float]] = {}
    for name in sorted(graph, reverse=True):
        x, y = sides.get(name, 0.0), float(depth(graph, name))
        at[name] = (-x if (x, y) in at.values() else x, y)
    return at


def main() -> None:
    """Draw and save the picture."""
    graph = imported()
    at = places(graph)
    figure, axes = plt.subplots(figsize=(4.6, 6.6))
    xs, ys = zip(*at.values(), strict=True)
    axes.set_xlim(min(xs) - 0.8, max(xs) + 0.8)
    axes.set_ylim(min(ys) - 0.4, max(ys) + 0.4)
    axes.axis("off")
    box = {"boxstyle": "round,pad=0.35", "fc": "#DCEAF4", "ec": "#0072B2", "lw": 1.5}
    for name, where in at.items():
        axes.text(*where, name, size=13, ha="center", va="center", bbox=box)
    for name, others in reduced(graph).items():
        for other in others:
            gap = 13 if at[name][0] == at[other][0] else 26
            axes.annotate(
                "",
                at[other],
                at[name],
                zorder=1,
                arrowprops={"arrowstyle": "-|>", "color": "0.45", "shrinkA": 13, "shrinkB": gap},
            )
    save(figure, "imports", colors=32)


if __name__ == "__main__":
    main()
