"""Draw docs/images/idea.png: one word in two regions of a graph, without and with localization.

Run it after a change of the picture: `python docs/draw_idea.py`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Ellipse, Rectangle
from pictures import save

BLUE, ORANGE, GRAY, DARK = "#0072B2", "#C24E00", "#777777", "#222222"
UP, DOWN = 1.5, -1.5
PLACES = ((-1.0, 0.62), (1.05, 0.62), (-1.0, -0.62), (1.05, -0.62))
BIOLOGY, TELECOM = ("gene", "tissue", "DNA", "virus"), ("radio", "mobile", "signal", "5G")
# Shares of dark, a row for each output; each feature scaled and shifted in its own way.
W = ((0.5, 0.35, 0.6, 0.3), (0.3, 0.6, 0.4, 0.55), (0.6, 0.45, 0.3, 0.5))
SCALES = {BLUE: (1.0, 1.6, 0.6, 1.2), ORANGE: (1.3, 0.25, 1.4, 0.5)}
FEATURE = 1  # the column of "cell"


def node(axes: Axes, x: float, y: float, word: str, color: str, filled: bool = False) -> None:
    """A node, written as its word."""
    box = {"boxstyle": "round,pad=0.25", "fc": color if filled else "white", "ec": color, "lw": 1.5}
    style = {"weight": "bold", "color": "white"} if filled else {"color": DARK}
    axes.text(x, y, word, size=14, ha="center", va="center", bbox=box, zorder=3, **style)


def region(
    axes: Axes, y: float, color: str, name: tuple[str, float], words: tuple[str, ...]
) -> None:
    """The node "cell" among neighbors whose words say what it means there."""
    axes.add_patch(Ellipse((0, y), 4.4, 2.5, fc=color, alpha=0.14, lw=0))
    for (dx, dy), word in zip(PLACES, words, strict=True):
        axes.plot([0, dx], [y, y + dy], color=GRAY, lw=1.5, zorder=1)
        node(axes, dx, y + dy, word, color)
    node(axes, 0, y, "cell", color, filled=True)
    text, dy = name
    axes.text(0, y + dy, text, size=13, color=color, ha="center", va="center", weight="bold")


def matrix(axes: Axes, x: float, y: float, color: str, scale: tuple[float, ...]) -> None:
    """A weight matrix; the column of the word "cell" has a frame."""
    shades = LinearSegmentedColormap.from_list("", ["white", color])
    size = 0.42
    left, top = x - 2 * size, y + 1.5 * size
    for i, row in enumerate(W):
        for j, (weight, factor) in enumerate(zip(row, scale, strict=True)):
            corner = left + j * size, top - (i + 1) * size
            face = shades(min(weight * factor, 1.0))
            axes.add_patch(Rectangle(corner, size, size, fc=face, ec="0.75", lw=0.8))
    corner = left + FEATURE * size, top - 3 * size
    axes.add_patch(Rectangle(corner, size, 3 * size, fill=False, ec=DARK, lw=2, zorder=4))


def arrow(axes: Axes, end: tuple[float, float], y: float, color: str) -> None:
    """From a region to the weights that act there."""
    style = {"arrowstyle": "-|>", "color": color, "lw": 2, "mutation_scale": 16}
    axes.annotate("", end, (2.25, y), arrowprops=style)


def panel(axes: Axes, title: str) -> None:
    """The graph under a title: two regions with an edge between them."""
    axes.plot([-1.0, -1.0], [UP - 0.62, DOWN + 0.62], color=GRAY, lw=1.5, zorder=0)
    region(axes, UP, BLUE, ("biology", 1.47), BIOLOGY)
    region(axes, DOWN, ORANGE, ("telecommunication", -1.47), TELECOM)
    axes.text(1.4, 3.6, title, size=15, ha="center", weight="bold", color=DARK)
    axes.set_xlim(-2.3, 5.6)
    axes.set_ylim(-3.2, 3.9)
    axes.set_aspect("equal")
    axes.axis("off")


def main() -> None:
    """Draw and save the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5))
    panel(left, "GNN: one W for all nodes")
    matrix(left, 4.2, 0, DARK, (1, 1, 1, 1))
    left.text(4.2, 0.9, "$W$", size=18, ha="center", color=DARK)
    arrow(left, (3.15, 0.35), UP, BLUE)
    arrow(left, (3.15, -0.35), DOWN, ORANGE)
    left.text(
        4.2,
        -1.25,
        'one column for\n"cell", one meaning',
        size=13,
        ha="center",
        va="center",
        color=DARK,
    )
    panel(right, "nodewise: a $\\mathbf{W_v}$ for each node v")
    for y, color in ((UP, BLUE), (DOWN, ORANGE)):
        matrix(right, 4.2, y, color, SCALES[color])
        arrow(right, (3.15, y), y, color)
        right.text(4.2, y - 0.98, "$W_v = W \\odot a_v + b_v$", size=13, ha="center", color=color)
    right.text(
        4.2,
        0,
        'two columns for\n"cell", two meanings',
        size=13,
        ha="center",
        va="center",
        color=DARK,
    )
    figure.subplots_adjust(0, 0, 1, 1, wspace=0.02)
    save(figure, "idea")


if __name__ == "__main__":
    main()
