"""Which epoch is kept and when training ends: plain numbers in, plain numbers out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal


@dataclass(frozen=True)
class Best:
    """What has been seen on the validation nodes so far.

    Attributes:
        accuracy: The highest accuracy.
        loss: The lowest loss.
        epoch: The epoch that is kept; -1 before there is one.
        epoch_accuracy: The accuracy of that epoch.
        epoch_loss: Its loss.
        waited: Epochs since anything was as good as before.
    """

    accuracy: float = -inf
    loss: float = inf
    epoch: int = -1
    epoch_accuracy: float = -inf
    epoch_loss: float = inf
    waited: int = 0


@dataclass(frozen=True)
class StoppingRule:
    """When an epoch is kept, and when to stop.

    Attributes:
        epochs: Train so many epochs at most.
        patience: Stop after so many recorded epochs in a row without anything as good as before.
        start_record_epoch: Nothing is recorded up to and including this epoch, counted from 0, so
            no validation pass is needed; -1 records from the first.
        keep: Keep an epoch where validation accuracy and loss are "both" at least as good as their
            bests, and wait on while either is (the released program); or the epoch of best
            "accuracy", the lower loss deciding between equals; or of lowest "loss".
        stopping_loss: The validation loss that counts: "penalized" contains the three penalties as
            in the released program, "plain" is the cross-entropy alone.
    """

    epochs: int = 10_000
    patience: int = 200
    start_record_epoch: int = -1
    keep: Literal["both", "accuracy", "loss"] = "both"
    stopping_loss: Literal["penalized", "plain"] = "penalized"

    def records(self, epoch: int) -> bool:
        """Whether this epoch is looked at."""
        return epoch > self.start_record_epoch

    def update(self, best: Best, epoch: int, accuracy: float, loss: float) -> Best:
        """What is known after this epoch; the epoch is kept where `epoch` is the result's."""
        kept, waits_on = self._verdict(best, accuracy, loss)
        after = replace(
            best,
            accuracy=max(best.accuracy, accuracy),
            loss=min(best.loss, loss),
            waited=0 if waits_on else best.waited + 1,
        )
        if not kept:
            return after
        return replace(after, epoch=epoch, epoch_accuracy=accuracy, epoch_loss=loss)

    def _verdict(self, best: Best, accuracy: float, loss: float) -> tuple[bool, bool]:
        """Whether the epoch is kept, and whether the patience starts anew."""
        if self.keep == "both":
            as_good = accuracy >= best.accuracy, loss <= best.loss
            return all(as_good), any(as_good)
        if self.keep == "loss":
            return loss < best.loss, loss < best.loss
        before = best.epoch_accuracy, -best.epoch_loss
        better = (accuracy, -loss) > before
        return better, better

    def ends(self, best: Best) -> bool:
        """Whether patience is over."""
        return best.waited >= self.patience
