"""Write results/README.md and the README's table of pairs, from the records.

Run it after new ones, `python docs/make_results.py`; a test checks that both are up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

from nodewise.report.results_page import markdown, markdown_section
from nodewise.report.sections import SECTIONS, read_section

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "results" / "README.md", ROOT / "README.md"
_OPENING = """# What the records say

Every table that `nodewise report` prints, made from the records in this folder by
`python docs/make_results.py`. In brackets what the paper prints. What agrees, what does not, and
why: [the reproduction](../docs/reproduction.md)."""
_PAIRS = re.compile(r"\| pair \|.*?\n\n", re.DOTALL)


def results_page() -> str:
    """All suites, as the file has them."""
    parts = [_OPENING]
    for name in SECTIONS:
        section = read_section(PAGE.parent, name)
        parts += [f"## {section.suite.title}", markdown_section(section)]
    return "\n\n".join(parts) + "\n"


def readme() -> str:
    """The README with the pairs that the records have."""
    pairs = markdown(read_section(PAGE.parent, "matched").tables[0])
    return _PAIRS.sub(lambda _: f"{pairs}\n\n", README.read_text("utf-8"), count=1)


if __name__ == "__main__":
    PAGE.write_text(results_page(), "utf-8")
    README.write_text(readme(), "utf-8")
