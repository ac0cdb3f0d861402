"""Early stopping: decides from validation scores which epoch is the best, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

from nodewise.training.metrics import Metric


@dataclass(frozen=True)
class Best:
    """The best scores on the validation nodes so far.

    Attributes:
        accuracy: The highest score: accuracy, or the metric of the rule.
        loss: The lowest loss.
        epoch: The best epoch, whose weights are kept; -1 before the first.
        epoch_accuracy: The score of that epoch.
        epoch_loss: The loss of that epoch.
        waited: Epochs in a row without a score as good as the best.
    """

    accuracy: float = -inf
    loss: float = inf
    epoch: int = -1
    epoch_accuracy: float = -inf
    epoch_loss: float = inf
    waited: int = 0


@dataclass(frozen=True)
class StoppingRule:
    """The rule that selects the best epoch and ends training.

    Attributes:
        epochs: The largest number of epochs.
        patience: Stop after this many epochs in a row without a score as good as the best.
        start_record_epoch: Epochs up to and including this one, counted from 0, are not validated;
            -1 validates from the first.
        keep: "both" keeps an epoch whose validation score and loss are both at least as good as
            the best, and restarts the patience if either is (the released program); "accuracy"
            keeps the best score, of equal ones the lower loss; "loss" keeps the lowest loss.
        metric: The score on validation nodes; the log loss counts negatively. See
            `nodewise.training.metrics` for what each is.
        stopping_loss: The validation loss that is compared: "penalized" contains the three
            penalties, as in the released program, "plain" is the cross-entropy alone.
    """

    epochs: int = 10_000
    patience: int = 200
    start_record_epoch: int = -1
    keep: Literal["both", "accuracy", "loss"] = "both"
    metric: Metric = "accuracy"
    stopping_loss: Literal["penalized", "plain"] = "penalized"

    def validates(self, epoch: int) -> bool:
        """Whether this epoch is validated."""
        return epoch > self.start_record_epoch

    def update(self, best: Best, epoch: int, score: float, loss: float) -> Best:
        """The best scores after this epoch; the result has its number if the epoch is kept."""
        is_kept, restarts = self._verdict(best, score, loss)
        after = replace(
            best,
            accuracy=max(best.accuracy, score),
            loss=min(best.loss, loss),
            waited=0 if restarts else best.waited + 1,
        )
        if not is_kept:
            return after
        return replace(after, epoch=epoch, epoch_accuracy=score, epoch_loss=loss)

    def _verdict(self, best: Best, score: float, loss: float) -> tuple[bool, bool]:
        """Whether the epoch is kept, and whether the patience restarts."""
        if self.keep == "both":
            as_good = score >= best.accuracy, loss <= best.loss
            return all(as_good), any(as_good)
        if self.keep == "loss":
            return loss < best.loss, loss < best.loss
        before = best.epoch_accuracy, -best.epoch_loss
        better = (score, -loss) > before
        return better, better

    def ends(self, best: Best) -> bool:
        """Whether training ends: the patience is used up."""
        return best.waited >= self.patience


def line_score(line: Mapping[str, Any]) -> float:
    """The validation score in a line of history; the higher the better."""
    return float(line.get("val_score", line["val_accuracy"]))
