from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodewise.errors import UnknownNameError
from nodewise.experiments.published import published
from nodewise.experiments.suite import NAMES, Suite
from nodewise.models.zoo import ZOO
from nodewise.training.recipe import load_recipe
from tests.docs.pages import ROOT


@pytest.mark.parametrize("name", NAMES)
def test_every_suite_names_models_recipes_and_data_sets_that_exist(name: str) -> None:
    suite = Suite.load(name)
    assert suite.paper and suite.differs and suite.title
    for job in suite.jobs(Path("results")):
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
    rows = len(list(suite.cells()))
    assert [job.seed for job in jobs] == [seed for seed in range(suite.runs) for _ in range(rows)]


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


def test_each_model_of_the_fair_comparison_has_the_settings_that_its_search_found() -> None:
    own = Suite.load("fair").variants[-1]
    for model, of_model in own.own.items():
        for dataset, settings in of_model.items():
            path = ROOT / "results" / "search" / f"{dataset}-{model.replace(':', '_')}.json"
            found = json.loads(path.read_text("utf-8"))
            assert settings.items() <= found["settings"].items()
            assert own.settings.items() <= found["settings"].items()
            assert own.settings_of(model, dataset) == {**own.settings, **settings}
