"""The section "What to make of it": sentences that are computed from the records, or left out."""

from __future__ import annotations

from nodewise.report.page import Page
from nodewise.report.run_sections.next_steps import next_steps
from nodewise.report.run_sections.records import RunGroup
from nodewise.report.run_sections.score_words import against_controls, what_decided
from nodewise.report.run_sections.trust_words import (
    hardest_class,
    overfitting_or_few_nodes,
    probabilities,
)

_MAKERS = (
    against_controls,
    what_decided,
    overfitting_or_few_nodes,
    hardest_class,
    probabilities,
)


def add_words(page: Page, group: RunGroup) -> None:
    """Add what the records say, what `auto` says, and what one could do next."""
    found = [make(group) for make in _MAKERS]
    said = [" ".join(group.choice["sentences"])] if group.choice else []
    sentences = [*(sentence for sentence in found if sentence), *said]
    if not sentences:
        return
    page.heading("What to make of it")
    page.bullets(sentences)
    page.paragraph("What one could do next:")
    page.bullets(next_steps(group))
