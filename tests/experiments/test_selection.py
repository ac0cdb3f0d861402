from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nodewise.errors import DivergedError, InputError
from nodewise.experiments import selection as choosing
from nodewise.experiments.candidates import Candidate, CandidateSet
from nodewise.experiments.selection import Selection, choose
from nodewise.experiments.trial import Trial
from nodewise.runs.run import Task, Watch
from nodewise.training.recipe import Recipe
from tests.training.tasks import small_task

CONTEST = CandidateSet(
    "nodewise",
    3,
    2,
    {"epochs": 8, "hidden_channels": 4},
    (
        Candidate("narrow", "LGCN", {}),
        Candidate("wide", "LGCN", {"hidden_channels": 9}),
        Candidate("sum", "LGIN", {}),
        Candidate("global", "LGCN:global", {}),
    ),
)


def make(model: str, recipe: Recipe) -> Task:
    task = small_task(model)
    return Task(task.data, task.split, {}, model, recipe)


def selection(folder: Path, **changes: Any) -> Selection:
    return replace(Selection(folder, make, candidate_set=CONTEST), **changes)


def outcomes(record: dict[str, Any]) -> dict[str, str]:
    return {about["name"]: about["outcome"] for about in record["candidates"]}


def test_the_best_of_the_first_round_are_trained_to_their_end(tmp_path: Path) -> None:
    record = choose(selection(tmp_path)).record
    about = {one["name"]: one for one in record["candidates"]}
    order = sorted(about.values(), key=lambda one: -one["first_round_val_accuracy"])
    ended = {name for name, what in outcomes(record).items() if "left" not in what}
    lowest = min(about[name]["first_round_val_accuracy"] for name in ended)
    assert len(ended) == 2 and lowest >= order[2]["first_round_val_accuracy"]
    assert record["chosen"] == max(ended, key=lambda name: _figures(about[name]))
    assert outcomes(record)[record["chosen"]] == "chosen"


def _figures(about: dict[str, Any]) -> tuple[float, float]:
    return about["val_accuracy"], -about["val_loss"]


def test_the_record_is_kept_and_the_budget_too(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    record = choose(selection(tmp_path), lambda *told: seen.append(told)).record
    assert json.loads((tmp_path / "choice.json").read_text()) == record
    total = 4 * 3 + 2 * 5 + 8
    assert {told[2] for told in seen} == {total} == {record["epochs_at_most"]}
    done = [told[1] for told in seen]
    assert done == sorted(done) and done[-1] == total
    assert seen[0][0] == "candidate 1 of 4, narrow"
    assert record["epochs"] <= total


def test_beside_the_chosen_one_its_counterpart_is_trained_alike(tmp_path: Path) -> None:
    record = choose(selection(tmp_path)).record
    chosen = next(one for one in record["candidates"] if one["name"] == record["chosen"])
    beside = record["beside"]
    assert beside["settings"] == chosen["settings"]
    assert {beside["model"], chosen["model"]} in ({"LGCN", "LGCN:global"}, {"LGIN", "LGIN:global"})
    assert "localization" in record["sentence"] and "favors" in record["localization"]["note"]
    gap = chosen["val_accuracy"] - beside["val_accuracy"]
    sign = -1 if chosen["model"].endswith(":global") else 1
    assert record["localization"]["difference"] == pytest.approx(sign * gap)


def test_a_counterpart_that_is_a_candidate_is_not_trained_twice(tmp_path: Path) -> None:
    pair = (CONTEST.candidates[0], CONTEST.candidates[3])
    candidate_set = replace(CONTEST, candidates=pair, survivors=1)
    record = choose(selection(tmp_path, candidate_set=candidate_set)).record
    assert record["beside"]["name"] in ("narrow", "global")
    assert sorted(outcomes(record).values()) == ["chosen", "trained to the end"]
    assert {path.name for path in (tmp_path / "candidates").iterdir()} == {"narrow", "global"}


def test_test_nodes_have_no_say(tmp_path: Path) -> None:
    def scrambled(model: str, recipe: Recipe) -> Task:
        task = make(model, recipe)
        data, test = task.data.clone(), torch.from_numpy(task.split.test.copy())
        data.y[test] = (data.y[test] + 1) % 3
        return replace(task, data=data)

    records = [
        choose(selection(tmp_path / name, make=how)).record
        for name, how in (("as_is", make), ("scrambled", scrambled))
    ]
    assert "test" not in json.dumps(records[0])
    for record in records:
        _forget_seconds(record)
    assert records[0] == records[1]


def _forget_seconds(record: Any) -> None:
    if isinstance(record, dict):
        record.pop("seconds", None)
        for value in record.values():
            _forget_seconds(value)
    elif isinstance(record, list):
        for value in record:
            _forget_seconds(value)


def test_stopped_in_the_middle_it_goes_on_to_the_same_choice(tmp_path: Path) -> None:
    whole = choose(selection(tmp_path / "whole")).record
    trained = 0
    while True:
        asked = 0

        def stop() -> bool:
            nonlocal asked, trained
            asked, trained = asked + 1, trained + 1
            return asked % 7 == 0

        try:
            record = choose(selection(tmp_path / "halting"), stop=stop).record
            break
        except KeyboardInterrupt:
            continue
    for one in (whole, record):
        _forget_seconds(one)
    assert record == whole
    assert trained == whole["epochs"]  # none twice


def test_the_same_again_trains_nothing(tmp_path: Path) -> None:
    first = choose(selection(tmp_path)).record
    asked: list[int] = []
    again = choose(selection(tmp_path), stop=lambda: bool(asked.append(1))).record
    assert again == first and not asked


def test_keys_that_are_fixed_merge_candidates(tmp_path: Path) -> None:
    record = choose(selection(tmp_path, fixed={"hidden_channels": 3})).record
    assert list(outcomes(record)) == ["narrow", "sum", "global"]


def weighted(model: str, recipe: Recipe) -> Task:
    task = make(model, recipe)
    data = task.data.clone()
    data.edge_weight = torch.ones(data.edge_index.size(1))
    return replace(task, data=data)


def test_a_model_that_cannot_use_the_graph_is_left_out_and_it_is_said_why(tmp_path: Path) -> None:
    some = (Candidate("attention", "LGAT", {}), CONTEST.candidates[0])
    asked = selection(tmp_path, make=weighted, candidate_set=replace(CONTEST, candidates=some))
    record = choose(asked).record
    assert "does not use the weights" in outcomes(record)["attention"]
    assert record["chosen"] == "narrow"


def test_where_no_model_can_use_the_graph_that_is_an_error(tmp_path: Path) -> None:
    none = replace(CONTEST, candidates=(Candidate("attention", "LGAT", {}),))
    with pytest.raises(InputError, match="weights of edges"):
        choose(selection(tmp_path, make=weighted, candidate_set=none))


def test_a_candidate_that_diverges_is_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Trial.train

    def train(self: Trial, epochs: int, watch: Watch) -> None:
        if self.name in diverging:
            raise DivergedError("the loss is not finite")
        honest(self, epochs, watch)

    monkeypatch.setattr(choosing.Trial, "train", train)
    diverging = {"wide", "sum"}
    record = choose(selection(tmp_path)).record
    assert outcomes(record)["wide"] == outcomes(record)["sum"] == "diverged"
    assert record["chosen"] in ("narrow", "global")
    diverging = {"narrow", "wide", "sum", "global"}
    with pytest.raises(DivergedError, match="every candidate"):
        choose(selection(tmp_path))


@pytest.mark.parametrize("sound", ["narrow", "wide", "sum", "global"])
def test_where_the_best_diverge_later_on_the_next_best_get_their_turn(
    sound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Trial.train

    def train(self: Trial, epochs: int, watch: Watch) -> None:
        if epochs > CONTEST.first_round and self.name != sound:
            raise DivergedError("the loss is not finite")
        honest(self, epochs, watch)

    monkeypatch.setattr(choosing.Trial, "train", train)
    seen: list[tuple[int, int]] = []
    asked = selection(tmp_path, candidate_set=replace(CONTEST, survivors=1))
    record = choose(asked, lambda what, done, total: seen.append((done, total))).record
    assert record["chosen"] == sound
    assert all(done <= total for done, total in seen)
