"""The pages keep their word: what they tell to type can be typed, and does what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sklearn import model_selection

from tests.docs.pages import ROOT, Step, agree, run, steps

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if any(steps(page.read_text("utf-8")))
)


@pytest.fixture(autouse=True)
def _without_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    # scikit-learn's own checks of estimators switch them on, and a tutorial lists all its names.
    for name in {"HalvingGridSearchCV", "HalvingRandomSearchCV"} & vars(model_selection).keys():
        monkeypatch.delattr(model_selection, name)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_tells_to_type_does_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page}
    for step in steps((ROOT / page).read_text("utf-8")):
        printed = run(step, names)
        assert step.shown is None or agree(step.shown, printed), (
            f"{page}, line {step.line}: {step.code}\nprints\n{printed}\nand not\n{step.shown}"
        )


def test_the_tutorials_and_the_readme_have_something_to_type() -> None:
    assert {"README.md", "docs/tutorials/csv.md", "docs/tutorials/pyg.md"} <= set(PAGES)


def test_blocks_are_found_with_what_they_show() -> None:
    page = "```python\nx = 1\n```\n\n```text\n1\n```\n\n```console\n$ ls\na\n$ pwd\n```\n"
    assert [(step.kind, step.code, step.shown) for step in steps(page)] == [
        ("python", "x = 1\n", "1\n"),
        ("console", "ls", "a\n"),
        ("console", "pwd", None),
    ]


def test_a_text_further_down_is_not_an_output() -> None:
    assert next(steps("```python\nx\n```\nsome words\n```text\n1\n```\n")).shown is None


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a  b\nc", "a b c\n", True),
        ("a ... c", "a b b c", True),
        ("63.3 of 400", "66.7 of 400", True),
        ("63.3 of 400", "20.0 of 400", False),
        ("63.3 of 400", "63.3 of 399", False),
        ("a b", "a b c", False),
    ],
)
def test_outputs_agree_but_for_dots_and_small_differences(
    shown: str, printed: str, same: bool
) -> None:
    assert agree(shown, printed) is same


def test_a_block_that_fails_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        run(Step("python", "1 / 0", None, 1), {})
    with pytest.raises(AssertionError, match="ended with 2"):
        run(Step("console", "nodewise train no-such-graph", None, 1), {})
