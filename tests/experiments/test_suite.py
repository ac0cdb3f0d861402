from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodewise.data.published.catalog import DATASETS
from nodewise.errors import UnknownNameError
from nodewise.experiments.auto.candidates import is_auto
from nodewise.experiments.auto.job import AutoJob
from nodewise.experiments.published import published
from nodewise.experiments.suite import NAMES, Suite
from nodewise.models.zoo import ZOO
from nodewise.training.recipe import load_recipe
from tests.docs.pages import ROOT


@pytest.mark.parametrize("name", NAMES)
def test_every_suite_names_models_recipes_and_data_sets_that_exist(name: str) -> None:
    suite = Suite.load(name)
    assert suite.paper and suite.differs and suite.title
    assert set(suite.peers) <= set(suite.models) and set(suite.runs_of) <= set(suite.datasets)
    for job in suite.only([], [], runs=1).jobs(Path("results")):
        assert job.dataset in DATASETS
        if not is_auto(job.recipe):
            assert job.model in ZOO
            load_recipe(job.recipe, job.model, job.dataset, job.settings)


@pytest.mark.parametrize("name", ["main", "val100"])
def test_a_suite_has_the_papers_rows(name: str) -> None:
    assert sorted(Suite.load(name).models) == sorted(published()[name])


@pytest.mark.parametrize("name", NAMES)
def test_no_two_runs_share_a_folder_and_every_row_gets_a_run_before_any_gets_two(name: str) -> None:
    suite = Suite.load(name)
    jobs = suite.jobs(Path("results"))
    assert len({job.folder for job in jobs}) == len(jobs)
    wanted = [suite.runs_on(dataset) for dataset, _, _ in suite.cells()]
    counts = [sum(seed < runs for runs in wanted) for seed in range(max(wanted))]
    assert [job.seed for job in jobs] == [
        seed for seed, count in enumerate(counts) for _ in range(count)
    ]


def test_suites_share_runs_that_are_the_same() -> None:
    folders = {
        name: {job.folder: job for job in Suite.load(name).jobs(Path("results"))} for name in NAMES
    }
    shared = folders["main"].keys() & folders["matched"].keys() & folders["ablation"].keys()
    assert shared
    assert all(
        folders["main"][f] == folders["matched"][f] == folders["ablation"][f] for f in shared
    )


def test_a_part_of_a_suite(tmp_path: Path) -> None:
    part = Suite.load("main").only(["LGCN"], ["cora"], runs=2)
    assert [(job.model, job.dataset, job.seed) for job in part.jobs(tmp_path)] == [
        ("LGCN", "cora", 0),
        ("LGCN", "cora", 1),
    ]
    with pytest.raises(UnknownNameError, match="LGCN"):
        Suite.load("main").only(["LGCNN"], [])


def test_twenty_splits_are_twenty_splits() -> None:
    jobs = Suite.load("splits").only(["LGCN"], ["cora"]).jobs(Path("results"))
    splits = [(job.source["split"], job.source["split_seed"]) for job in jobs]
    assert splits == [("random", k) for k in range(1, 21)]  # 0 is that of the default split


def test_peers_share_splits_which_are_stored_or_drawn() -> None:
    suite = Suite.load("peers")
    jobs = suite.jobs(Path("results"))
    splits: dict[tuple[str, str, int], set[tuple[str, int]]] = {}
    for job in jobs:
        key = (str(job.dataset), job.folder.parent.name, job.seed)
        splits.setdefault(key, set()).add((job.source["split"], job.source["split_seed"]))
    assert all(len(found) == 1 for found in splits.values())
    assert splits["actor", "peers-many", 3] == {("3", 0)}
    assert splits["actor", "peers-few", 3] == {("few", 4)}
    assert splits["amazon", "peers-many", 4] == {("many", 5)}
    assert ("amazon", "peers-many", 5) not in splits and ("cornell", "peers-few", 0) not in splits
    assert len(suite.only([], ["actor"], runs=7).jobs(Path("results"))) == 7 * 13 * 2


def test_peers_have_their_recipes_metrics_and_budgets() -> None:
    jobs = Suite.load("peers").only([], ["minesweeper", "toy"], runs=1).jobs(Path("results"))
    found = {(job.dataset, job.model, job.folder.parent.name): job for job in jobs}
    for (dataset, model, _), job in found.items():
        assert job.settings == ({"metric": "roc_auc"} if dataset == "minesweeper" else {})
        assert isinstance(job, AutoJob) == (model == "auto")
    assert found["toy", "GCN-tuned", "peers-few"].recipe == "official"
    assert found["toy", "MLP", "peers-few"].recipe == "nodewise"
    budgets = [found[dataset, "auto", "peers-few"] for dataset in ("toy", "minesweeper")]
    assert [job.budget for job in budgets if isinstance(job, AutoJob)] == [120.0, 300.0]


def test_each_model_of_the_fair_comparison_has_the_settings_that_its_search_found() -> None:
    own = Suite.load("fair").variants[-1]
    for model, of_model in own.of_models.items():
        for dataset, settings in of_model.items():
            path = ROOT / "results" / "search" / f"{dataset}-{model.replace(':', '_')}.json"
            found = json.loads(path.read_text("utf-8"))
            assert settings.items() <= found["settings"].items()
            assert own.settings.items() <= found["settings"].items()
            assert own.settings_of(dataset, model) == {**own.settings, **settings}
