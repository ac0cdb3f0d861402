"""A long table that can be searched, in HTML: a box, a choice, and a small script of ours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Without scripts the tools stay hidden, and the table shows all rows. Names are never part of the
# script: it reads them as text from the cells.
SCRIPT = """
for (const box of document.querySelectorAll('.search')) {
  const [input, choice, order, shown] = box.querySelectorAll('input, select, output');
  const body = box.querySelector('tbody'), rows = [...body.rows];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const show = () => {
    const wanted = input.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row, i) => {
      row.hidden = !texts[i].includes(wanted)
        || (choice.selectedIndex > 0 && row.cells[1].textContent !== choice.value);
      count += !row.hidden;
    });
    shown.value = count.toLocaleString('en') + (count === 1 ? ' node' : ' nodes');
  };
  input.addEventListener('input', show);
  choice.addEventListener('change', show);
  order.addEventListener('change', () => body.append(...[...body.rows].reverse()));
  box.querySelector('.tools').hidden = false;
  show();
}
"""


def search_table(table: str, choices: Sequence[str]) -> str:
    """The table, in a frame that scrolls, below the tools that search it.

    Args:
        table: The table as HTML.
        choices: Values of its second column to choose from.
    """
    options = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    return (
        "<div class='search'><p class='tools' hidden>"
        "<label>Search <input type='search' autocomplete='off'></label> "
        f"<label>Prediction <select><option>any</option>{options}</select></label> "
        "<label><input type='checkbox' autocomplete='off'> least sure first</label> "
        "<output></output></p>"
        f"<div class='rows' tabindex='0' role='region' aria-label='Predictions'>{table}</div></div>"
        f"<script>{SCRIPT}</script>"
    )
