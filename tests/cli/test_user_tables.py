"""From a user's tables to predictions and back, through the real command."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from nodewise.cli.app import app, main
from nodewise.errors import NodewiseError, RunWarning
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from nodewise.runs.sources import load_source, make_task
from tests.data.tables.broken_tables import CASES, BrokenTable
from tests.runs.earlier import as_of_earlier_release

QUICK = ["--set", "epochs=12", "--set", "hidden_channels=4", "--threads", "1"]
TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv"]
TRAIN = ["train", *TABLES, "--label", "club", "--recipe", "nodewise", *QUICK]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: object) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(*arguments: object) -> str:
    result = invoke(*arguments)
    assert isinstance(result.exception, NodewiseError), (result.output, result.exception)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def answer(*arguments: object) -> dict[str, Any]:
    return dict(json.loads(done(*arguments, "--json").splitlines()[-1]))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write_karate(folder: Path) -> None:
    """Zachary's club: every third member is to be predicted; one has met nobody."""
    club = nx.karate_club_graph()
    people = [
        (f"m{n}", "" if n % 3 == 0 else about["club"], n % 7, ("white", "black")[n % 2])
        for n, about in club.nodes(data=True)
    ]
    people.append(("hermit", "", 3, "white"))
    frame = pd.DataFrame(people, columns=["member", "club", "visits", "belt"])
    frame.to_csv(folder / "nodes.csv", index=False)
    ties = [(f"m{u}", f"m{v}", about["weight"]) for u, v, about in club.edges(data=True)]
    pd.DataFrame(ties, columns=["a", "b", "w"]).to_csv(folder / "edges.csv", index=False)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables and a run in `run`, which was trained from within it."""
    folder = tmp_path_factory.mktemp("karate")
    write_karate(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "output.txt").write_text(done(*TRAIN, "--out", "run"))
    return folder


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder to work in."""
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    monkeypatch.chdir(folder)
    return folder


def test_a_summary_is_printed_before_training(trained: Path) -> None:
    output = (trained / "output.txt").read_text()
    assert output.index("nodes     35, 1 of them without an edge") < output.index("test accuracy")
    assert "Mr. Hi" in output and "Officer" in output
    assert "no split was given, so one was drawn within each class" in output


def test_a_quiet_run_tells_its_results_only(here: Path) -> None:
    assert done(*TRAIN, "--out", "run", "--quiet").lstrip().startswith("test accuracy")


def test_the_run_keeps_where_the_graph_is_and_how_it_was_read(trained: Path) -> None:
    config = (trained / "run" / "config.toml").read_text()
    assert 'nodes = "nodes.csv"' in config and 'label = "club"' in config
    assert (trained / "run" / "preprocessing.json").exists()


def test_predictions_have_the_owners_ids_and_class_names(here: Path) -> None:
    assert answer("predict", "run", "--out", "labels.csv")["nodes"] == 35
    rows = rows_of(here / "labels.csv")
    assert list(rows[0]) == ["id", "prediction", "p_Mr. Hi", "p_Officer"]
    assert [row["id"] for row in rows] == [*(f"m{n}" for n in range(34)), "hermit"]
    assert {row["prediction"] for row in rows} <= {"Mr. Hi", "Officer"}


def test_evaluation_finds_the_graph_and_its_split_again(here: Path) -> None:
    assert answer("evaluate", "run")["same_bits"] is True


def test_the_same_command_again_only_reads(here: Path) -> None:
    first = json.loads((here / "run" / "result.json").read_text())
    assert answer(*TRAIN, "--out", "run")["runs"] == [first]


def test_every_seed_keeps_the_preprocessing(here: Path) -> None:
    done(*TRAIN, "--out", "runs", "--runs", 2)
    assert all((here / "runs" / f"seed-{seed}" / "preprocessing.json").exists() for seed in (0, 1))
    done("predict", "runs", "--out", "labels.csv")


def add_a_newcomer(folder: Path) -> None:
    """Later tables, without labels, where somebody of an unknown belt has joined."""
    nodes = pd.read_csv(folder / "nodes.csv").drop(columns="club")
    nodes.loc[len(nodes)] = ["newcomer", 2, "green"]
    nodes.to_csv(folder / "later_nodes.csv", index=False)
    edges = (folder / "edges.csv").read_text()
    (folder / "later_edges.csv").write_text(f"{edges}newcomer,m0,3\nnewcomer,m1,1\n")


PREDICTING = """
import sys
from nodewise.cli.app import main
sys.argv = ["nodewise", "predict", "run", "--quiet"]
try:
    main()
except SystemExit as end:
    assert not end.code
needless = ("matplotlib", "sklearn", "optuna", "gensim", "networkx", "nodewise.experiments",
    "nodewise.report", "nodewise.bench", "nodewise.data.published")
print(*[name for name in needless if name in sys.modules])
"""


def test_predicting_imports_only_what_it_needs(here: Path) -> None:
    found = subprocess.run([sys.executable, "-c", PREDICTING], capture_output=True, text=True)
    assert (found.returncode, found.stdout.split()) == (0, []), found.stderr


def test_a_stopped_run_predicts_and_says_so(here: Path) -> None:
    run = Path("run")
    task = make_task(load_source(RunFolder(run).config["graph"]), "LGCN", load_run(run).recipe)
    train_in(Path("stopped"), task, 0, Callbacks(stop=lambda: True))
    out = done("predict", "stopped", "--out", "labels.csv", "--json")
    assert "training was stopped: these are predictions of the best epoch so far, 0 of 1" in out
    assert json.loads(out.splitlines()[-1])["interrupted"]
    assert len(rows_of(Path("labels.csv"))) == 35
    assert "stopped" not in done("predict", run, "--out", "labels.csv")


def test_a_later_bigger_table_is_predicted_with_the_kept_preprocessing(here: Path) -> None:
    done("predict", "run", "--out", "before.csv")
    add_a_newcomer(here)
    later = ("--nodes", "later_nodes.csv", "--edges", "later_edges.csv")
    output = done("predict", "run", *later, "--out", "after.csv")
    assert "1 category of column 'belt' is not known, and left out: 'green' 1 time\n" in output
    assert "labels    none; 36 nodes without, to be predicted" in output
    before, after = rows_of(here / "before.csv"), rows_of(here / "after.csv")
    assert after[-1]["id"] == "newcomer" and len(after) == len(before) + 1
    # Who is far from the newcomer keeps every digit: features and model are the same.
    hermit = len(before) - 1
    assert after[hermit] == before[hermit]


def test_later_tables_need_no_labels_no_split_and_no_sizes_of_classes(here: Path) -> None:
    nodes = pd.read_csv("nodes.csv", keep_default_na=False)
    nodes["split"] = "train"  # of nodes without labels, which training would refuse
    nodes["club"] = ["Mr. Hi", *[""] * 34]  # one class, of one node
    nodes.to_csv("later_nodes.csv", index=False)
    assert "has one class only" in refused(
        "train", "--nodes", "later_nodes.csv", "--edges", "edges.csv", "--label", "club"
    )
    done("predict", "run", "--nodes", "later_nodes.csv", "--edges", "edges.csv", "--out", "a.csv")
    done("predict", "run", "--out", "b.csv")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


def test_prediction_draws_no_split(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "runs.sources.stratified_split",
        "runs.sources.hold_out",
        "data.datasets.load_dataset",
    ):
        monkeypatch.setattr(f"nodewise.{name}", lambda *_: pytest.fail("drawn"))
    with pytest.raises(pytest.fail.Exception, match="drawn"):
        invoke(*TRAIN, "--out", "again")
    done("predict", "run", "--out", "labels.csv")
    assert len(pd.read_csv("labels.csv")) == len(pd.read_csv("nodes.csv"))


def test_the_option_and_the_key_of_earlier_releases_still_work(here: Path) -> None:
    nodes = pd.read_csv("nodes.csv", keep_default_na=False)
    nodes["club"] = nodes["club"].replace("", "?")
    nodes.to_csv("nodes.csv", index=False)
    done(*TRAIN, "--unlabelled", "?", "--out", "old")
    config = here / "old" / "config.toml"
    assert "unlabeled = [" in config.read_text()
    config.write_text(config.read_text().replace("unlabeled = [", "unlabelled = ["))
    as_of_earlier_release(here / "old")
    with pytest.warns(RunWarning, match=r"no manifest\.json"):
        assert answer("evaluate", "old")["same_bits"] is True
    assert answer(*TRAIN, "--unlabeled", "?", "--out", "old")["runs"]


def test_the_same_tables_named_are_the_tables_of_training(here: Path) -> None:
    done("predict", "run", "--out", "own.csv")
    done("predict", "run", *TABLES, "--out", "named.csv")
    assert (here / "own.csv").read_bytes() == (here / "named.csv").read_bytes()


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_embeddings_are_a_row_for_each_id(here: Path, name: str) -> None:
    done("predict", "run", "--embeddings", name)
    table = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name)
    assert list(table.columns) == ["id", "e0", "e1", "e2", "e3"]
    assert list(table["id"][:2]) == ["m0", "m1"] and len(table) == 35
    assert table["e0"].nunique() > 1


def test_predictions_are_written_as_their_name_says(here: Path) -> None:
    done("predict", "run", "--out", "p.csv")
    done("predict", "run", "--out", "p.parquet")
    csv_rows, parquet_rows = pd.read_csv("p.csv"), pd.read_parquet("p.parquet")
    assert list(csv_rows.columns) == list(parquet_rows.columns)
    assert list(csv_rows["prediction"]) == list(parquet_rows["prediction"])
    for out in ("p.csv.gz", "p", ".", "/"):
        assert "must be a CSV or a Parquet file" in refused("predict", "run", "--out", out)
    message = refused("predict", "run", "--out", "same.csv", "--embeddings", "./same.csv")
    assert "is the file of --out" in message and not (here / "same.csv").exists()


def test_weights_of_edges_make_a_difference_and_come_back(here: Path) -> None:
    done(*TRAIN, "--weight", "w", "--out", "weighted")
    assert answer("evaluate", "weighted")["same_bits"] is True
    hashes = [
        json.loads((here / run / "result.json").read_text())["logits_sha256"]
        for run in ("run", "weighted")
    ]
    assert hashes[0] != hashes[1]
    (here / "bare.csv").write_text("a,b\nm0,m1\n")
    message = refused("predict", "weighted", "--nodes", "nodes.csv", "--edges", "bare.csv")
    assert "was trained with weights" in message


def test_a_model_that_cannot_use_weights_refuses_them(here: Path) -> None:
    message = refused(*TRAIN, "--weight", "w", "-m", "LGAT", "--out", "never")
    assert "does not use the weights" in message
    assert not (here / "never").exists()


def test_options_reach_the_reader(here: Path) -> None:
    columns = ("--features", "visits,belt", "--id", "member")
    output = done(*TRAIN, *columns, "--directed", "-o", "all")
    assert "features  3: " in output and "78, directed" in output
    output = done(
        *TRAIN, "--features", "visits", "--text", "belt", "--missing", "zero", "-o", "one"
    )
    assert "1 numeric from 'visits'; 2 text from 'belt'" in output


def test_empty_cells_are_filled_by_choice_and_that_is_reported(here: Path) -> None:
    nodes = pd.read_csv("nodes.csv", keep_default_na=False)
    nodes["visits"] = ["" if n % 5 == 0 else n % 7 for n in range(35)]
    nodes.loc[[3, 4], "belt"] = ""
    nodes.to_csv("nodes.csv", index=False)
    assert "choose missing (--missing): mean, median or zero" in refused(*TRAIN, "--out", "never")
    output = done(*TRAIN, "--missing", "median", "--out", "filled")
    assert "7 empty cells of column 'visits' taken for 3" in output
    assert "2 empty cells of column 'belt' taken for no category" in output


def test_numbers_for_ids_are_ids(here: Path) -> None:
    nodes, edges = pd.read_csv("nodes.csv"), pd.read_csv("edges.csv")
    number = {member: 7 * n for n, member in enumerate(nodes["member"])}
    nodes["member"] = nodes["member"].map(number)
    nodes.to_csv("nodes.csv", index=False)
    edges[["a", "b"]] = edges[["a", "b"]].map(number.__getitem__)
    edges.to_csv("edges.csv", index=False)
    done(*TRAIN, "--source", "a", "--target", "b", "--out", "numbers")
    done("predict", "numbers", "--out", "labels.csv")
    assert [row["id"] for row in rows_of(here / "labels.csv")][:3] == ["0", "7", "14"]


def test_the_page_of_a_run_has_its_parts(trained: Path) -> None:
    page = (trained / "run" / "report.html").read_text()
    parts = ("Scores", "Confusion matrix", "Calibration", "Learning")
    assert all(f"<h2>{part}" in page for part in parts)
    assert "Most localized" in page and "Least localized" in page


def test_a_split_column_is_followed_and_validation_held_out_where_it_has_none(here: Path) -> None:
    nodes = pd.read_csv("nodes.csv", keep_default_na=False)
    parts = ["train", "train", "train", "test"]
    nodes["part"] = [parts[n % 4] if club else "" for n, club in enumerate(nodes["club"])]
    nodes.to_csv("nodes.csv", index=False)
    output = done(*TRAIN, "--split-column", "part", "--out", "split")
    assert "no nodes to validate on" in output and "no split was given" not in output
    assert answer("evaluate", "split")["same_bits"] is True


@pytest.mark.parametrize("command", [("predict", "run"), ("evaluate", "run")])
def test_a_table_that_is_gone_or_changed_is_one_line(here: Path, command: tuple[str, ...]) -> None:
    with (here / "edges.csv").open("a") as stream:
        stream.write("m0,m9,1\n")
    assert "edges.csv: has changed since" in refused(*command)
    (here / "edges.csv").unlink()
    assert "edges.csv: the run was trained on this file" in refused(*command)
    assert not (here / "predictions.csv").exists()


def test_a_run_is_not_continued_on_tables_that_have_changed(here: Path) -> None:
    with (here / "edges.csv").open("a") as stream:
        stream.write("m0,m9,1\n")
    message = refused(*TRAIN, "--out", "run")
    assert message.startswith("run: holds a run with another version of edges.csv; choose another")


def test_a_run_finds_its_tables_from_any_folder(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # Another graph of that name is not the one of training.
    (elsewhere / "nodes.csv").write_text("member,club\nx,Mr. Hi\n")
    monkeypatch.chdir(elsewhere)
    assert answer("evaluate", here / "run")["same_bits"] is True
    assert answer("predict", here / "run")["nodes"] == 35


SEARCH = ["search", *TABLES, "--label", "club", "-m", "GCN", "--workers", 1]


def test_settings_are_searched_on_tables(here: Path) -> None:
    few = ["--trials", 2, "--set", "epochs=4", "--set", "hidden_channels=4"]
    output = done(*SEARCH, *few)
    assert output.index("nodes     35, 1 of them without an edge") < output.index("best validation")
    assert "  --model GCN --recipe nodewise\n" in output
    records = [
        json.loads(path.read_text())
        for path in here.glob("runs/search-nodes-GCN/*/*/*/result.json")
    ]
    config = next(here.glob("runs/search-nodes-GCN/trials/0/seed-0/config.toml")).read_text()
    assert 'nodes = "nodes.csv"' in config
    found = answer(*SEARCH, *few)  # all is done, so this only reads
    assert found["trials"] == 2
    assert found["val_accuracy"] == max(record["val_accuracy"] for record in records)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search",), "is missing; name a data set"),
        (("search", "--nodes", "gone.csv", "--edges", "edges.csv"), "gone.csv: "),
        (("search", *TABLES), "--label: is missing"),
        (("train", *TABLES, "--label", "club", "--recipe", "atuo"), "did you mean 'auto'"),
        (("train",), "is missing; name a data set"),
        (("train", "toy", *TABLES), "given twice"),
        (("train", "toy", "--label", "club"), "--label: is about tables"),
        (("train", "--nodes", "nodes.csv", "--label", "club"), "--edges: is missing"),
        (("train", *TABLES), "--label: is missing"),
        (("train", "--edges", "edges.csv"), "--label: is missing"),
        (("train", *TABLES, "--label", "club", "--split", "public"), "--split-column"),
        (("train", *TABLES, "--label", "club", "--missing", "meen"), "did you mean 'mean'"),
        (("train", *TABLES, "--label", "club", "--text-as", "bags"), "did you mean 'bag'"),
        (("predict", "run", "toy", *TABLES), "given twice"),
        (("predict", "run", "--embeddings", "rows.xlsx"), ".csv or .parquet"),
        (("predict", "run", "--nodes", "nodes.csv"), "--edges: is missing"),
    ],
)
def test_options_that_contradict_each_other_are_one_line(
    here: Path, arguments: tuple[str, ...], says: str
) -> None:
    before = sorted(here.rglob("*"))
    assert says in refused(*arguments)
    assert sorted(here.rglob("*")) == before


def test_a_run_on_a_data_set_reads_no_tables(here: Path) -> None:
    done("train", "toy", "-m", "GCN", *QUICK, "--out", "toy")
    assert "no preprocessing.json" in refused("predict", "toy", *TABLES)


def as_flags(arguments: dict[str, Any]) -> list[str]:
    """Arguments of `read_graph` as the command line has them; training always needs a label."""
    flags = []
    for name, value in {"label": "topic", **arguments}.items():
        flag = "--split-column" if name == "split" else f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list) else [value]:
            flags += [flag, str(each)]
    return flags


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_broken_table_is_one_line_and_leaves_nothing(case: BrokenTable, tmp_path: Path) -> None:
    flags = as_flags(case.write(tmp_path))
    before = sorted(tmp_path.iterdir())
    message = refused("train", *flags, "--out", tmp_path / "run")
    for part in (*case.says, case.way_out):
        assert part in message
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_that_is_no_table_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read to its end"))
    case = next(case for case in CASES if case.name == "ten gigabytes of nothing")
    assert "not a text table" in refused("train", *as_flags(case.write(tmp_path)))


def test_the_program_ends_with_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for case in CASES[::8]:
        folder = tmp_path / case.name
        folder.mkdir()
        flags = as_flags(case.write(folder))
        monkeypatch.setattr(sys, "argv", ["nodewise", "train", *flags, "--out", str(folder / "x")])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert ended.value.code == 2
        assert printed.err.startswith("nodewise: ") and printed.err.count("\n") == 1
        assert printed.out == ""


@pytest.mark.parametrize("name", ["unknown id", "ten gigabytes of nothing"])
def test_a_process_ends_with_code_2(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    command = [sys.executable, "-m", "nodewise", "train", *as_flags(case.write(tmp_path))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith("nodewise: ") and ended.stderr.count("\n") == 1
    assert ended.stdout == "" and not (tmp_path / "runs").exists()
