from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from nodewise.models.baselines.context_pairs import PairRule
from nodewise.models.baselines.planetoid import Planetoid, PlanetoidI, PlanetoidT
from nodewise.models.baselines.planetoid_training import PlanetoidTrainer, Schedule
from tests.models.baselines.test_deepwalk import two_cliques

FORMS = [PlanetoidT, PlanetoidI]
EDGES, TRAIN = two_cliques(), torch.tensor([9, 1])
X, Y = torch.eye(16), torch.arange(16) // 8
QUICK = Schedule(label_warmup=2, walk_warmup=20, pairs=200)


def trainer_of(
    form: type[Planetoid], y: Tensor = Y, schedule: Schedule = QUICK
) -> PlanetoidTrainer:
    torch.manual_seed(0)
    model = form(16, 2, 16, dimension=8, hidden_channels=8)
    return PlanetoidTrainer(model, X, EDGES, y, TRAIN, schedule)


def state_of(trainer: PlanetoidTrainer) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in trainer.model.parameters()])


@pytest.mark.parametrize("form", FORMS)
def test_one_label_a_clique_names_the_whole_clique(form: type[Planetoid]) -> None:
    # Features tell every node apart and say nothing: what is known comes through the contexts.
    trainer = trainer_of(form)
    first = trainer.step()
    for _ in range(40):
        last = trainer.step()
    assert last[0] < first[0]
    right = trainer.model.eval()(X).argmax(1) == Y
    assert right.sum() >= 14


@pytest.mark.parametrize("form", FORMS)
def test_labels_outside_the_training_nodes_are_never_read(form: type[Planetoid]) -> None:
    hidden = torch.full_like(Y, -1)
    hidden[TRAIN] = Y[TRAIN]
    one, other = trainer_of(form), trainer_of(form, hidden)
    for trainer in (one, other):
        torch.manual_seed(1)
        trainer.step()
    assert torch.equal(state_of(one), state_of(other))


@pytest.mark.parametrize("form", FORMS)
def test_a_resumed_run_gives_the_same_bits(form: type[Planetoid]) -> None:
    whole = trainer_of(form)
    whole.step()
    kept = deepcopy((whole.model.state_dict(), whole.state_dict(), torch.get_rng_state()))
    whole.step()
    resumed = trainer_of(form)
    resumed.model.load_state_dict(kept[0])
    resumed.load_state_dict(kept[1])
    torch.set_rng_state(kept[2])
    resumed.step()
    assert torch.equal(state_of(whole), state_of(resumed))


def test_a_mask_of_training_nodes_is_as_good_as_their_numbers() -> None:
    mask = torch.zeros(16, dtype=torch.bool).index_fill(0, TRAIN, True)
    trainer = PlanetoidTrainer(PlanetoidI(16, 2, 16), X, EDGES, Y, mask)
    assert trainer.train.tolist() == [1, 9]


def test_the_warm_up_draws_from_labels_then_from_walks_and_comes_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import nodewise.models.baselines.planetoid_training as module

    drawn, sample = [], module.sample_pairs

    def note(graph: object, nodes: Tensor, labels: Tensor, count: int, rule: PairRule) -> object:
        assert torch.equal(nodes, TRAIN) and torch.equal(labels, Y[TRAIN])
        drawn.append(rule.from_walks)
        return sample(graph, nodes, labels, count, rule)

    monkeypatch.setattr(module, "sample_pairs", note)
    schedule = Schedule(
        label_warmup=2, walk_warmup=3, context_batches=1, pairs=10, rule=PairRule(from_walks=0.5)
    )
    trainer = trainer_of(PlanetoidT, schedule=schedule)
    trainer.step()
    trainer.step()
    assert drawn == [0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.5]
