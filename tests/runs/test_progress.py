from __future__ import annotations

import pytest

from nodewise.runs import progress
from nodewise.runs.progress import choosing_progress, duration, epoch_progress
from nodewise.training.early_stopping import StoppingRule


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (5700, "1 h 35 min")],
)
def test_a_duration_has_the_units_that_people_use(seconds: float, words: str) -> None:
    assert duration(seconds) == words


LINE = {
    "epoch": 4,
    "cross_entropy": 1.0,
    "global_weights": 0.25,
    "local_weights": 0.0,
    "modulations": 0.0,
    "val_accuracy": 0.5,
    "waited": 1,
}


def test_without_a_terminal_lines_are_printed_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for quiet, lines in ((False, False), (True, True)):
        with epoch_progress("GCN", StoppingRule(), quiet, lines) as show:
            show.epoch(LINE)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.0)
    with epoch_progress("GCN", StoppingRule(epochs=5), quiet=False, lines=True) as show:
        show.epoch(LINE)
    out = capsys.readouterr().out
    assert out.startswith("GCN: epoch 5, loss 1.250  val 50.0 %  ")
    assert out.endswith("epochs/s, about 0 s left\n") and out.count("\n") == 1


def test_lines_are_seconds_apart_and_the_last_one_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with choosing_progress(300.0, quiet=False, lines=True) as show:
        for second in range(3):
            show("candidate 1 of 9: gcn", second, 300.0)
    assert capsys.readouterr().out == "candidate 1 of 9: gcn, 2 of 300 s\n"
