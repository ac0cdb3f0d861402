"""The only training loop. It counts epochs; engines step models, keepers write files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol

from torch import Tensor

from nodewise.errors import DivergedError, RunError
from nodewise.randomness import random_state, set_random_state
from nodewise.training.early_stopping import Best, StoppingRule, line_score
from nodewise.training.engines.base import Engine, Loss, Validation
from nodewise.training.metrics import validation_score

Tensors = dict[str, Tensor]
Epoch = dict[str, Any]
Timer = Callable[[], float]  # seconds, of which only differences count


class Keeper(Protocol):
    """Stores a run's state and history."""

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The last checkpoint, if there is one."""

    def save(self, tensors: Tensors, about: dict[str, Any]) -> None:
        """Replace the checkpoint."""

    def record(self, epoch: Epoch) -> None:
        """Add a line to the history."""


class NullKeeper:
    """A keeper that keeps nothing."""

    def load(self) -> None:
        """No checkpoint."""

    def save(self, tensors: Tensors, about: dict[str, Any]) -> None:
        """Do nothing."""

    def record(self, epoch: Epoch) -> None:
        """Do nothing."""


@dataclass
class Progress:
    """The progress of a run.

    Attributes:
        epoch: The next epoch, counted from 0.
        best: The best scores on the validation nodes.
        weights: The model's weights at the best epoch.
        seconds: The time of all epochs, over all sessions.
        interrupted: Whether training was asked to stop before its end.
    """

    epoch: int = 0
    best: Best = field(default_factory=Best)
    weights: Tensors = field(default_factory=dict)
    seconds: float = 0.0
    interrupted: bool = False


def fit(
    engine: Engine,
    rule: StoppingRule,
    keeper: Keeper | None = None,
    watch: Callable[[Epoch], None] = lambda epoch: None,
    stop: Callable[[], bool] = lambda: False,
    enough: Callable[[], bool] = lambda: False,
    checkpoint_seconds: float = 10.0,
    timer: Timer = perf_counter,
) -> Progress:
    """Train until the rule ends it, from the keeper's last checkpoint on if there is one.

    At the end the engine's model has the weights of the best epoch.

    Args:
        engine: The engine.
        rule: Selects the best epoch and ends training.
        keeper: Stores state and history.
        watch: Called after every epoch with its line of history.
        stop: Asked after every epoch; True saves a checkpoint and returns, `interrupted` set.
        enough: Asked after every epoch; True ends training as the rule would.
        checkpoint_seconds: Time between checkpoints.
        timer: Measures the seconds of the progress.

    Raises:
        DivergedError: A term of the loss is not finite; the last checkpoint stays as it is.
    """
    keeper, processes = keeper or NullKeeper(), engine.processes
    progress, saved_at = _resume(engine, keeper), perf_counter()
    while progress.epoch < rule.epochs and not rule.ends(progress.best):
        began = timer()
        line = _epoch(engine, rule, progress)
        progress.epoch += 1
        progress.seconds += timer() - began
        keeper.record(line)
        watch(line)
        # All processes stop after the same epoch, whichever of them was asked to.
        progress.interrupted = processes.any(bool(stop()))
        if progress.interrupted or perf_counter() - saved_at >= checkpoint_seconds:
            _save(engine, keeper, progress)
            saved_at = perf_counter()
        if progress.interrupted:
            return progress
        if processes.any(enough()):
            break
    engine.model.load_state_dict(progress.weights or engine.model.state_dict())
    return progress


def _epoch(engine: Engine, rule: StoppingRule, progress: Progress) -> Epoch:
    """Train for an epoch, validate if the rule says so, and keep the weights of the best epoch."""
    epoch = progress.epoch
    loss = engine.step()
    line: Epoch = {"epoch": epoch, **_finite(loss, epoch, "training")}
    if not rule.validates(epoch):
        return line
    found = engine.validate()
    terms = _finite(found.loss, epoch, "validation")
    stopping = sum(terms.values()) if rule.stopping_loss == "penalized" else terms["cross_entropy"]
    scores = _scores(found, rule)
    progress.best = rule.update(progress.best, epoch, line_score(scores), stopping)
    if progress.best.epoch == epoch:
        progress.weights = {k: v.clone() for k, v in engine.model.state_dict().items()}
    return {**line, **scores, "val_loss": stopping, "waited": progress.best.waited}


def _scores(found: Validation, rule: StoppingRule) -> dict[str, float]:
    """The accuracy, and the score that the rule maximizes if it is another."""
    accuracy = {"val_accuracy": found.accuracy}
    if rule.metric == "accuracy":
        return accuracy
    probabilities = found.logits.cpu().double().softmax(1).numpy()
    score = validation_score(rule.metric, found.y.cpu().numpy(), probabilities)
    return {**accuracy, "val_score": score}


def _finite(loss: Loss, epoch: int, part: str) -> dict[str, float]:
    terms = loss.values()
    for name, value in terms.items():
        if not math.isfinite(value):
            raise DivergedError(
                f"epoch {epoch}: the {part} loss is not finite, its term {name} is {value}; "
                "lower learning_rate, and look at the features for extreme values"
            )
    return terms


def _save(engine: Engine, keeper: Keeper, progress: Progress) -> None:
    """Save a checkpoint: model, best weights, optimizer, random states, and the progress."""
    torch_state, others = random_state()
    parts = {
        "model": engine.model.state_dict(),
        "best": progress.weights,
        "engine": engine.state(),
        "random": {"torch": torch_state},
    }
    tensors = {
        f"{part}/{k}": tensor for part, state in parts.items() for k, tensor in state.items()
    }
    if not all(bool(tensor.isfinite().all()) for tensor in parts["model"].values()):
        raise DivergedError(
            f"epoch {progress.epoch}: a weight is not finite; the checkpoint before it stays"
        )
    about = {
        "epoch": progress.epoch,
        "best": {key: repr(value) for key, value in asdict(progress.best).items()},
        "seconds": progress.seconds,
        "random": others,
    }
    keeper.save(tensors, about)


def _resume(engine: Engine, keeper: Keeper) -> Progress:
    """Restore the state of the last checkpoint."""
    checkpoint = engine.processes.of_first(keeper.load())
    if checkpoint is None:
        return Progress()
    try:
        return _restored(engine, *checkpoint)
    except (KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
        raise RunError(
            "the checkpoint",
            f"is of another model or release ({type(error).__name__}: {error})",
            way_out="delete the run's folder and train again",
        ) from error


def _restored(engine: Engine, tensors: Tensors, about: dict[str, Any]) -> Progress:
    """Put a checkpoint's state into the engine; returns the progress."""
    parts: dict[str, Tensors] = {"model": {}, "best": {}, "engine": {}, "random": {}}
    for key, tensor in tensors.items():
        part, name = key.split("/", 1)
        parts[part][name] = tensor
    engine.model.load_state_dict(parts["model"])
    engine.load_state(parts["engine"])
    set_random_state(parts["random"]["torch"], about["random"])
    kinds = asdict(Best())
    best = {key: type(kinds[key])(value) for key, value in about["best"].items()}
    return Progress(about["epoch"], replace(Best(), **best), parts["best"], about["seconds"])
