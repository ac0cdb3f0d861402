from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.cli.tables import print_table
from nodewise.errors import InputError, UnknownNameError
from nodewise.experiments.suite import NAMES, Suite
from nodewise.report.results_page import markdown_section, write_results
from nodewise.report.suite_sections.sections import SECTIONS, read_section
from tests.experiments.test_collect import finished
from tests.report.made_up import put_cost, put_run, put_runs, put_tsne

pytestmark = pytest.mark.medium


class Seen(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in ("script", "link", "iframe") or (
            tag == "img" and not (found.get("src") or "").startswith("data:")
        ):
            self.fetched.append(tag)
        self.anchors.add(found.get("id") or "")


def fill(results: Path) -> None:
    """A few records for every suite."""
    for name in ("main", "val100", "ablation", "matched", "splits", "lambda"):
        suite = Suite.load(name)
        for dataset, model, variant in suite.only([], ["cora"]).cells():
            for seed in range(2):
                put_run(results, model, seed, 0.8 + seed / 100, dataset, variant)
    for model in Suite.load("cost").models:
        put_cost(results, "cora", model, mflops=20.0)
    put_tsne(results)


def record_of(page: Path, link: str) -> tuple[Any, ...]:
    """Data set, model, variant and seed of the line that a cell's link leads to."""
    path, _, line = link.partition("#L")
    text = (page.parent / unquote(path)).read_text().splitlines()[int(line) - 1]
    return tuple(json.loads(text).get(key) for key in ("dataset", "model", "variant", "seed"))


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_suite_has_its_section() -> None:
    assert set(SECTIONS) == set(NAMES)


def test_a_filled_folder_gives_one_page_and_a_picture_for_each_plot(tmp_path: Path) -> None:
    fill(tmp_path)
    page = tmp_path / "page" / "index.html"
    output = run(tmp_path, "--json", "--out", page.parent)
    text = page.read_text("utf-8")
    seen = Seen(text)
    assert not seen.fetched and "url(http" not in text
    plots = {"ablation", "matched", "splits", "fair", "lambda", "decay", "cost", "tsne"}
    assert {path.stem for path in page.parent.glob("*.png")} == plots
    assert text.count("<svg") == len(plots)
    for suite in map(Suite.load, NAMES):
        assert suite.name in seen.anchors and f"#{suite.name}" in seen.links
    files = [link for link in seen.links if not link.startswith("#")]
    assert len(files) > 100
    assert {record_of(page, link) for link in files} >= {
        ("cora", "LGCN:global", "official", 1),
        ("cora", "LGCN", None, None),
    }
    answer = json.loads(output.splitlines()[-1])
    assert answer["report"] == str(page) and set(NAMES) <= answer.keys()


def test_links_are_relative_wherever_the_page_is(tmp_path: Path) -> None:
    put_runs(tmp_path / "results", "LGCN", [0.8])
    sections = [read_section(tmp_path / "results", "main")]
    page = write_results(tmp_path / "else where" / "page", sections)
    links = [link for link in Seen(page.read_text("utf-8")).links if not link.startswith("#")]
    assert [record_of(page, link) for link in links] == 2 * [("cora", "LGCN", "official", 0)]


def test_an_empty_folder_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    output = run(tmp_path)
    assert (
        "no records yet; `nodewise reproduce main` creates them" in output and "missing" in output
    )
    text = (tmp_path / "report" / "index.html").read_text("utf-8")
    for name in NAMES:
        assert f"o records yet; <code>nodewise reproduce {name}</code>" in text
    assert "<td></td>" not in text and not list((tmp_path / "report").glob("*.png"))


def test_what_the_paper_prints_is_not_called_missing(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.83, 0.84])
    run(tmp_path)
    text = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "<td>83.5 ± 0.3</td>" in text and "<span class='missing'>missing</span>" in text


def test_a_narrow_terminal_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(["model", "accuracy, %"], [["LGCN", "83.5 ± 0.3 and more"]])
    assert "LGCN   83.5 ± 0.3 and more\n" in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


def test_half_a_suite_is_drawn_and_the_rest_said_to_be_missing(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.83, 0.84])
    put_cost(tmp_path, "cora", "LGCN")
    run(tmp_path)
    text = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "2 of 10 runs" in text and "no runs yet" in text and "1 of 12 records" in text
    drawn = {path.stem for path in (tmp_path / "report").glob("*.png")}
    assert drawn == {"ablation", "lambda", "cost"}  # no pair has both sides yet


def test_pictures_without_records_do_not_stay(tmp_path: Path) -> None:
    path, out = put_tsne(tmp_path), tmp_path / "report"
    write_results(out, [read_section(tmp_path, "tsne")])
    assert (out / "tsne.png").read_bytes().startswith(b"\x89PNG")
    path.unlink()
    write_results(out, [read_section(tmp_path, "tsne")])
    assert not (out / "tsne.png").exists()


def test_a_picture_of_the_users_stays_where_a_suite_has_none(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.83])
    (tmp_path / "main.png").write_text("not ours")
    write_results(tmp_path, [read_section(tmp_path, "main")])
    assert (tmp_path / "main.png").read_text() == "not ours"


def test_a_text_ends_with_the_notes_on_its_records(tmp_path: Path) -> None:
    for model, torch in (("LGCN", "1.0"), ("GCN", "2.0")):
        put_cost(tmp_path, "cora", model, versions={"torch": torch})
        put_run(tmp_path, model, 0, 0.8, versions={"torch": torch})
    for suite in ("main", "cost"):
        text = markdown_section(read_section(tmp_path, suite))
        assert text.endswith("\n\nNote: records made with torch 1.0 and 2.0.")


def test_records_that_are_left_out_are_named_on_the_page(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.83])
    put_run(tmp_path, "LGCN", 1, 0.1, results_version=0)
    put_cost(tmp_path, "cora", "GCN", results_version=0)
    put_tsne(tmp_path, results_version=0)
    sections = [read_section(tmp_path, name) for name in ("main", "cost", "tsne")]
    text = write_results(tmp_path / "report", sections).read_text("utf-8")
    for name in ("main.jsonl:2", "cost.jsonl:1", "tsne.jsonl:1"):
        assert any("Left out" in line and name in line for line in text.splitlines())
    assert "1 of 10 runs" in text and "2 of 10 runs" not in text


def test_the_command_prints_every_row_and_the_promised_keys(tmp_path: Path) -> None:
    put_runs(tmp_path, "GCN", [0.8, 0.82])
    output = run(tmp_path, "--json")
    cell = json.loads(output.splitlines()[-1])["main"]["GCN"]["cora"]
    keys = "runs test_accuracy_mean test_accuracy_std test_micro_f_mean test_micro_f_std"
    assert {*keys.split(), "paper_accuracy", "paper_micro_f"} <= cell.keys()
    assert "81.0 ± 1.4 (81.5)" in output
    assert all(model in output for model in Suite.load("main").models)


def test_other_suites_are_printed_when_asked_for(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.83, 0.85])
    put_runs(tmp_path, "LGCN:global", [0.82, 0.84])
    output = run(tmp_path, "--suite", "matched", "--suite", "ablation")
    assert "cora: LGCN - LGCN:global" in output and "LGCN, both levels" in output
    assert "+1.0 [+1.0, +1.0] significant n=2" in output
    assert "Planetoid" not in output


def test_an_unknown_suite_or_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="matched"):
        read_section(tmp_path, "match")
    with pytest.raises(InputError, match="is not a folder"):
        read_section(tmp_path / "none", "main")


@pytest.mark.filterwarnings("ignore:.*has no manifest:nodewise.errors.RunWarning")
def test_finished_runs_without_a_line_and_those_of_other_folders_are_added(tmp_path: Path) -> None:
    results, other = tmp_path / "results", tmp_path / "other"
    results.mkdir()
    for place, seeds in ((results, (0,)), (other, (1, 2))):
        for seed in seeds:
            finished(place, seed)
    output = run(results, "--suite", "neighbors", "--import", other)
    assert f"added 1 records from {results}" in output and f"added 2 records from {other}" in output
    assert "LGCN:global" in output and "80.0 ± 0.0 n=3" in output
    command = ["report", str(results), "--import", str(tmp_path / "none")]
    assert "is not a folder" in str(CliRunner().invoke(app, command).exception)
