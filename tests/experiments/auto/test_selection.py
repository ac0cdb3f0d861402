from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nodewise.errors import DivergedError, InputError
from nodewise.experiments.auto import trial as trials
from nodewise.experiments.auto.candidates import Candidate, CandidateSet
from nodewise.experiments.auto.refit import halves_of
from nodewise.experiments.auto.selection import Choice, Selection, choose, choose_into
from nodewise.experiments.auto.trial import Part, Trial
from nodewise.io import unsealed
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from nodewise.runs.task import Task
from nodewise.training.recipe import Recipe
from tests.training.tasks import small_task

CONTEST = CandidateSet(
    "nodewise",
    [3],
    [2],
    {"epochs": 8, "hidden_channels": 4},
    [
        Candidate("alone", "MLP", {}),
        Candidate("narrow", "GCN", {}),
        Candidate("wide", "GCN", {"hidden_channels": 9}),
        Candidate("sage", "SAGE", {}),
    ],
    {"slower": {"learning_rate": 0.001}},
    {"free": {"lambda_local": 0.0}},
)


def make(model: str, recipe: Recipe) -> Task:
    task = small_task(model)
    return Task(task.data, task.split, {}, model, recipe)


def selection(folder: Path, **changes: Any) -> Selection:
    return replace(Selection(folder, make, candidate_set=CONTEST), **changes)


def outcomes(record: dict[str, Any]) -> dict[str, str]:
    return {about["name"]: about["outcome"] for about in record["candidates"]}


def score(record: dict[str, Any], name: str) -> float:
    found = next(one for one in record["candidates"] if one["name"] == name)
    return float(found["val_score"])


def test_the_worst_leave_after_a_round_and_then_come_variations_and_localized_forms(
    tmp_path: Path,
) -> None:
    with_graph = replace(CONTEST, candidates=CONTEST.candidates[1:])  # an MLP has no localized form
    record = choose(selection(tmp_path, candidate_set=with_graph)).record
    names = [one["name"] for one in record["candidates"]]
    assert names[:3] == ["narrow", "wide", "sage"]
    assert sum("left after 3" in outcomes(record)[name] for name in names[:3]) == 1
    assert names[3].endswith(", slower")
    best = record["best_global"]
    forms = {f"{best}, localized at {what}, free" for what in ("nodes", "edges", "nodes and edges")}
    assert set(names[4:]) == forms and record["best_localized"] in forms
    assert unsealed(json.loads((tmp_path / "choice.json").read_text())) == record


def test_localization_is_chosen_only_if_it_is_better_by_more_than_chance(tmp_path: Path) -> None:
    record = choose(selection(tmp_path, candidate_set=replace(CONTEST, candidates=SOME))).record
    gain, error = record["localization_gain"], record["localization_gain_se"]
    best = (record["best_localized"], record["best_global"])
    assert gain == pytest.approx(score(record, best[0]) - score(record, best[1]))
    assert record["chosen"] == best[0 if gain > error else 1]
    assert any("Localization" in sentence for sentence in record["sentences"])


SOME = CONTEST.candidates[1:3]


@pytest.mark.parametrize(("gain", "kept"), [(0.2, True), (0.01, False), (-0.2, False)])
def test_the_standard_error_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gain: float, kept: bool
) -> None:
    from nodewise.experiments.auto import result
    from nodewise.experiments.auto.gain import Gain

    def of(metric: Any, *_: Any) -> Gain:
        return Gain(metric, 20, 0.5 + gain, 0.5, 0.05)

    monkeypatch.setattr(result.Gain, "of", of)
    record = choose(selection(tmp_path, candidate_set=replace(CONTEST, candidates=SOME))).record
    assert record["chosen"] == record["best_localized" if kept else "best_global"]


def scrambled(model: str, recipe: Recipe) -> Task:
    task = make(model, recipe)
    data, test = task.data.clone(), torch.from_numpy(task.split.test.copy())
    data.y[test] = (data.y[test] + 1) % 3
    return replace(task, data=data)


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    kept = json.loads(json.dumps(record), object_hook=_forget)
    return dict(kept)


def _forget(table: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in table.items() if k not in ("seconds", "asked")}


def test_test_nodes_are_not_used(tmp_path: Path) -> None:
    records = [
        choose(selection(tmp_path / name, make=how)).record
        for name, how in (("as_is", make), ("scrambled", scrambled))
    ]
    assert "test" not in json.dumps(records[0])
    assert without_times(records[0]) == without_times(records[1])


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
    assert without_times(record) == without_times(whole)
    runs = (tmp_path / "halting" / "candidates").iterdir()
    assert trained == sum(len(RunFolder(run).history) for run in runs)  # none twice


def test_when_it_is_enough_the_best_so_far_is_chosen_and_the_same_call_goes_on(
    tmp_path: Path,
) -> None:
    asked: list[int] = []
    record = choose(selection(tmp_path), enough=lambda: len(asked) > 20 or asked.append(1)).record
    assert record["stopped"] and record["epochs"] < 30
    seen = [one for one in record["candidates"] if one["val_score"] is not None]
    assert record["val_score"] == max(one["val_score"] for one in seen)
    assert "choosing was stopped" in " ".join([*outcomes(record).values(), *record["sentences"]])
    again = choose(selection(tmp_path)).record
    assert not again["stopped"] and again["epochs"] > record["epochs"]


def test_the_same_again_is_read_back(tmp_path: Path) -> None:
    first = choose(selection(tmp_path))
    asked: list[int] = []
    again = choose(selection(tmp_path), stop=lambda: bool(asked.append(1)))
    assert again.record == first.record and not asked
    assert again.trial.identity == first.trial.identity and again.trial.folder == first.trial.folder
    other = choose(selection(tmp_path, budget=400.0), stop=lambda: bool(asked.append(1)))
    assert other.record["budget"] == 400.0 and not asked  # all were trained to their ends


def test_a_short_budget_tries_less_and_still_chooses(tmp_path: Path) -> None:
    record = choose(selection(tmp_path, budget=1e-6)).record
    assert record["chosen"] == "alone" and record["epochs"] == 1
    assert outcomes(record)["sage"] == "not tried: the time was over"


def test_several_workers_choose_the_same(tmp_path: Path) -> None:
    one, two = (choose(selection(tmp_path / str(n), workers=n)).record for n in (1, 2))
    assert without_times(one) == without_times(two)


def chosen_into(folder: Path, refit: bool) -> tuple[Choice, Task, dict[str, Any]]:
    choice, task = choose_into(folder / "run", selection(folder, refit=refit))
    return choice, task, train_in(folder / "run", task, 0)


def test_the_chosen_model_learns_from_validation_nodes_too(tmp_path: Path) -> None:
    choice, task, record = chosen_into(tmp_path, refit=True)
    learned = task.graph.split.train
    assert len(learned) == len(task.split.train) + len(task.split.val)
    best = [choice.trial, *halves_of(choice.trial)]
    found = sorted(run.best().epoch + 1 for run in best)
    assert record["epochs"] == found[1] == record["refit_epochs"] == choice.record["refit_epochs"]
    assert record["val_accuracy"] == choice.record["val_score"]  # from before
    assert load_run(tmp_path / "run").predict(task.data).shape == (60,)
    again, same, _ = chosen_into(tmp_path, refit=True)
    assert again.record == choice.record and same.refit == task.refit


def test_without_that_the_chosen_run_is_copied_at_its_best_epoch(tmp_path: Path) -> None:
    choice, task, record = chosen_into(tmp_path, refit=False)
    assert record["best_epoch"] == choice.record["best_epoch"] and task.refit is None
    assert record["val_accuracy"] == choice.record["val_score"]
    assert RunFolder(choice.trial.folder).result == record


def test_halves_of_validation_nodes_are_learned_and_score_in_turn(tmp_path: Path) -> None:
    trial = selection(tmp_path).trial(CONTEST.candidates[1])
    val, parts = trial.task().split.val, [half.task().split for half in halves_of(trial)]
    assert sorted([*parts[0].val, *parts[1].val]) == sorted(val)
    for part in parts:
        assert sorted([*part.train, *part.val]) == sorted([*trial.task().split.train, *val])


def test_the_temperature_of_a_refit_is_that_from_before(tmp_path: Path) -> None:
    asked = selection(tmp_path, fixed={"calibration": "temperature"})
    choice, task = choose_into(tmp_path / "run", asked)
    before = RunFolder(choice.trial.folder).result
    assert (
        before is not None
        and train_in(tmp_path / "run", task, 0)["temperature"] == before["temperature"]
    )


def test_without_time_for_a_refit_there_is_none(tmp_path: Path) -> None:
    assert choose(selection(tmp_path, budget=1e-6)).record["refit_epochs"] is None


def test_keys_that_are_fixed_merge_candidates(tmp_path: Path) -> None:
    record = choose(selection(tmp_path, fixed={"hidden_channels": 3})).record
    assert list(outcomes(record))[:3] == ["alone", "narrow", "sage"]


def weighted(model: str, recipe: Recipe) -> Task:
    task = make(model, recipe)
    data = task.data.clone()
    data.edge_weight = torch.ones(data.edge_index.size(1))
    return replace(task, data=data)


ATTENTION = Candidate("attention", "GAT", {})


def test_a_model_that_cannot_use_the_graph_is_left_out_and_it_is_said_why(tmp_path: Path) -> None:
    some = [ATTENTION, CONTEST.candidates[1]]
    asked = selection(tmp_path, make=weighted, candidate_set=replace(CONTEST, candidates=some))
    record = choose(asked).record
    assert "does not use the weights" in outcomes(record)["attention"]
    assert record["best_global"].startswith("narrow")


def test_where_no_model_can_use_the_graph_that_is_an_error(tmp_path: Path) -> None:
    none = replace(CONTEST, candidates=[ATTENTION])
    with pytest.raises(InputError, match="weights of edges"):
        choose(selection(tmp_path, make=weighted, candidate_set=none))


def diverging(monkeypatch: pytest.MonkeyPatch, when: Callable[[Trial, Part], bool]) -> None:
    honest = Trial.train

    def train(self: Trial, part: Part, callbacks: Callbacks) -> None:
        if when(self, part):
            raise DivergedError("the loss is not finite")
        honest(self, part, callbacks)

    monkeypatch.setattr(trials.Trial, "train", train)


def test_a_candidate_that_diverges_is_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diverging(monkeypatch, lambda trial, part: trial.name != "narrow")
    record = choose(selection(tmp_path)).record
    assert outcomes(record)["wide"] == outcomes(record)["sage"] == "diverged"
    assert record["chosen"] == "narrow" and record["localization_gain"] is None


def test_where_all_diverge_that_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverging(monkeypatch, lambda trial, part: True)
    with pytest.raises(DivergedError, match="every candidate"):
        choose(selection(tmp_path))


def test_where_the_best_diverge_later_on_the_next_best_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverging(monkeypatch, lambda trial, part: part.epochs > 3)
    record = choose(selection(tmp_path, candidate_set=replace(CONTEST, localizations={}))).record
    assert record["best_global"] in ("alone", "narrow", "wide", "sage")
    first = {name: outcomes(record)[name] for name in ("alone", "narrow", "wide", "sage")}
    assert list(first.values()).count("diverged") == 2
    assert first[record["best_global"]] in ("left after 3 epochs", "chosen")


WITH_CONTROLS = replace(CONTEST, candidates=SOME, controls=["Logistic", "Boosting-neighbors"])


def test_controls_are_trained_once_and_never_chosen(tmp_path: Path) -> None:
    record = choose(selection(tmp_path, candidate_set=WITH_CONTROLS)).record
    assert [about["name"] for about in record["controls"]] == list(WITH_CONTROLS.controls)
    assert all(about["epochs"] == 1 for about in record["controls"])
    assert {about["outcome"] for about in record["controls"]} == {"trained to the end"}
    assert record["chosen"] not in WITH_CONTROLS.controls
    assert record["features_alone"] == "Logistic"
    assert record["graph"]["difference"] == pytest.approx(
        record["val_score"] - record["controls"][0]["val_score"]
    )
    best = max(about["val_score"] for about in record["controls"])
    assert (record["better_control"] is not None) == (best > record["val_score"])


def test_a_better_control_is_named_with_its_score(tmp_path: Path) -> None:
    slow = {"learning_rate": 1e-6, "epochs": 2}
    poor = replace(WITH_CONTROLS, candidates=[Candidate("gcn", "GCN", slow)], variations={})
    sentences = choose(selection(tmp_path, candidate_set=poor)).record["sentences"]
    assert any("over features alone (best: Logistic)." in text for text in sentences)
    assert sentences[-1].startswith("A model of scikit-learn is better on validation nodes: ")
    assert sentences[-1].endswith(" % accuracy.")


def test_without_time_candidates_go_before_controls(tmp_path: Path) -> None:
    asked = selection(tmp_path, budget=1e-6, candidate_set=WITH_CONTROLS)
    record = choose(asked).record
    assert {about["outcome"] for about in record["controls"]} == {"not tried: the time was over"}
    assert record["chosen"] == "narrow"


def test_a_control_can_be_asked_for(tmp_path: Path) -> None:
    asked = selection(tmp_path, candidate_set=WITH_CONTROLS.of_model("Logistic"))
    choice, task = choose_into(tmp_path / "run", asked)
    assert choice.record["model"] == "Logistic"
    assert not {about["name"] for about in choice.record["controls"]} & {"Logistic"}
    record = train_in(tmp_path / "run", task, 0)
    assert record["epochs"] == 1 and record["val_accuracy"] == choice.record["val_score"]
