from __future__ import annotations

import subprocess
import sys

from nodewise.training.early_stopping import Best, StoppingRule

Seen = list[tuple[float, float]]


def follow(rule: StoppingRule, seen: Seen) -> tuple[list[int], int]:
    """The epochs that were kept, and the one after which training ended."""
    best, kept = Best(), []
    for epoch, (accuracy, loss) in enumerate(seen):
        if rule.validates(epoch):
            best = rule.update(best, epoch, accuracy, loss)
            if best.epoch == epoch:
                kept.append(epoch)
            if rule.ends(best):
                return kept, epoch
    return kept, len(seen) - 1


def literal(seen: Seen, patience: int, start: int) -> tuple[list[int], int]:
    """The released program's rule, written out."""
    top, low, waited, kept = -1.0, float("inf"), 0, []
    for epoch, (accuracy, loss) in enumerate(seen):
        if epoch <= start:
            continue
        if accuracy >= top or loss <= low:
            if accuracy >= top and loss <= low:
                kept.append(epoch)
            top, low, waited = max(top, accuracy), min(low, loss), 0
        else:
            waited += 1
            if waited == patience:
                return kept, epoch
    return kept, len(seen) - 1


def test_both_is_the_released_programs_rule() -> None:
    import random

    draw = random.Random(0)
    for _ in range(300):
        seen = [(draw.randrange(6) / 5, draw.randrange(6) / 5) for _ in range(30)]
        rule = StoppingRule(patience=3, start_record_epoch=4)
        assert follow(rule, seen) == literal(seen, 3, 4)


def test_nothing_is_recorded_up_to_and_including_the_start() -> None:
    rule = StoppingRule(start_record_epoch=500)
    assert not rule.validates(500)
    assert rule.validates(501)
    assert StoppingRule().validates(0)


def test_accuracy_decides_and_loss_between_equals() -> None:
    seen = [(0.5, 1.0), (0.5, 0.9), (0.5, 0.95), (0.4, 0.1), (0.6, 2.0)]
    assert follow(StoppingRule(keep="accuracy"), seen)[0] == [0, 1, 4]


def test_of_equals_a_lower_loss_counts_since_the_accuracy_was_reached() -> None:
    # The lowest loss of all, 0.1, came with a worse accuracy: it must not block later epochs.
    seen = [(0.4, 0.1), (0.6, 2.0), (0.6, 1.5)]
    assert follow(StoppingRule(keep="accuracy"), seen)[0] == [0, 1, 2]


def test_loss_alone() -> None:
    seen = [(0.5, 1.0), (0.9, 1.0), (0.1, 0.5)]
    assert follow(StoppingRule(keep="loss"), seen)[0] == [0, 2]


def test_it_knows_nothing_of_torch() -> None:
    code = "import sys, nodewise.training.early_stopping; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
