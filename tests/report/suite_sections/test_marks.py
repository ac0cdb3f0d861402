from __future__ import annotations

import pytest

from nodewise.report.style import new_figure
from nodewise.report.suite_sections.marks import entry, legend


@pytest.mark.parametrize("length", [5, 50])
def test_a_legend_stays_inside_its_picture_and_takes_no_more_rows_than_it_must(
    length: int,
) -> None:
    figure, _ = new_figure(7.6, 3)
    legend(figure, [entry("w" * length, k) for k in range(4)])
    figure.canvas.draw()
    (made,) = figure.legends
    box = made.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    heights = {round(text.get_window_extent().y0) for text in made.get_texts()}
    assert len(heights) == (1 if length == 5 else 4)
