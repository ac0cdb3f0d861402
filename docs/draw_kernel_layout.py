"""Draw docs/images/kernel-layout.png: how one target's work is laid out in cache.

Run it after a change of the layout: `python docs/draw_kernel_layout.py`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle
from pictures import save

BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#E69F00", "#009E73", "#BBBBBB"
ACTIVE = (1, 4, 5, 9)


def grid(
    axes: Axes, x: float, y: float, rows: int, columns: int, colors: dict[int, str], title: str
) -> None:
    """A matrix of small cells, some of its columns colored, with a title above."""
    for row in range(rows):
        for column in range(columns):
            face = colors.get(column, "white")
            cell = Rectangle((x + column, y - row), 1, -1, facecolor=face, edgecolor=GRAY, lw=0.6)
            axes.add_patch(cell)
    axes.text(x, y + 0.4, title, fontsize=9, va="bottom")


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    """An arrow with a text above its middle."""
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color="0.35"))
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.2
    axes.text(*middle, text, fontsize=8, color="0.25", ha="center", va="bottom")


def main() -> None:
    """Draw and save the picture."""
    figure, axes = plt.subplots(figsize=(9.6, 5.2))
    active = dict.fromkeys(ACTIVE, BLUE)
    grid(axes, 0, 13, 3, 12, active, "features $h_u$ of the neighbors of $v$: sparse rows")
    grid(axes, 0, 8, 4, 12, active, "$W$, a block of 8 output rows (in memory)")
    grid(axes, 17, 13, 2, 4, dict.fromkeys(range(4), ORANGE), "$a_v - 1$ and $b_v$, generated")
    grid(axes, 17, 8, 4, 4, dict.fromkeys(range(4), GREEN), "$W_v = W \\odot a_v + b_v$")
    grid(axes, 27, 13, 3, 1, {0: GRAY}, "code of $v$")
    grid(axes, 27, 8, 4, 3, dict.fromkeys(range(3), GREEN), "messages $W_v h_u$")
    arrow(axes, (12.2, 6), (16.8, 6), "active\ncolumns")
    arrow(axes, (26.8, 11.9), (21.3, 11.9), "expand,\nactive rows")
    arrow(axes, (19, 10.8), (19, 9), "")
    arrow(axes, (21.2, 6), (26.8, 6), "a load\nper feature")
    arrow(axes, (6, 2.6), (6, 3.9), "")
    axes.text(0, 2.2, "only columns where a neighbor has a feature (blue) are formed", fontsize=8.5)
    axes.add_patch(
        Rectangle((16.2, 3.4), 17.3, 11.2, fill=False, edgecolor="0.3", linestyle="--", lw=1)
    )
    axes.text(19, 2.2, "one thread's scratch, in the core's own cache:", fontsize=8.5)
    axes.text(19, 1.2, "overwritten by the next target", fontsize=8.5)
    axes.set_xlim(-0.5, 34)
    axes.set_ylim(0.8, 15)
    axes.set_aspect("equal")
    axes.axis("off")
    save(figure, "kernel-layout")


if __name__ == "__main__":
    main()
