from __future__ import annotations

import pytest

from nodewise.errors import InputError
from nodewise.models.memory import step_bytes
from nodewise.models.zoo import build_model
from nodewise.training.batching import Batching
from nodewise.training.engines.choice import EngineChoice, choose_engine
from nodewise.training.engines.resources import Resources
from nodewise.training.processes import Processes

SIZES = (300_000, 3_000_000)
MODEL = build_model("LGCN", 128, 4, hidden_channels=64)


def choice(batching: Batching, **more: bool) -> EngineChoice:
    return choose_engine(MODEL, SIZES, batching, **more)


def test_mini_batches_are_taken_where_a_step_does_not_fit_and_it_is_said() -> None:
    needed = step_bytes(MODEL, *SIZES)
    assert choice(Batching()) == choice(Batching(memory=f"{needed}B")) == EngineChoice("field")
    found = choice(Batching(memory=f"{needed - 1}B"))
    assert found.engine == "minibatch" and " GB, more than " in found.reason
    assert choice(Batching("field", memory="1MB")) == EngineChoice("field")


def test_a_graph_in_files_is_trained_by_mini_batches() -> None:
    assert choice(Batching(), in_memory=False).engine == "minibatch"
    with pytest.raises(InputError, match="--nodes"):
        choice(Batching("full"), in_memory=False)


def test_several_processes_share_mini_batches() -> None:
    several = Resources(processes=Processes(0, 2))
    found = choose_engine(MODEL, SIZES, Batching(), several)
    assert found.engine == "minibatch" and "each process" in found.reason


def test_a_large_model_of_another_kind_is_trained_on_the_full_graph_all_the_same() -> None:
    model = build_model("PyG-GCN-64", 128, 4)
    assert choose_engine(model, SIZES, Batching(memory="1MB")).engine == "field"
