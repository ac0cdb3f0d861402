"""The benchmarks measure what they say: same results on both sides, figures that add up."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from nodewise.bench import messages as bench
from nodewise.bench import scale
from nodewise.bench.memory import extra_peak_mb, in_child
from nodewise.bench.memory_limit import memory_limit
from nodewise.bench.scale import bench_scale, plot_scale
from nodewise.bench.timing import side_by_side
from nodewise.cli.app import app
from nodewise.errors import InputError, RunError
from tests.bench.jobs import (
    as_many_hundred_megabytes_as_threads,
    broken,
    fill_and_watch,
    fill_in_group,
    hungry,
    hungry_in_pieces,
)


def captured_gradients(monkeypatch: pytest.MonkeyPatch, job: partial[None]) -> list[torch.Tensor]:
    """What `torch.autograd.grad` gave inside a job."""
    seen: list[torch.Tensor] = []
    whole = torch.autograd.grad

    def spy(*args, **kwargs):  # type: ignore[no-untyped-def]
        seen.extend(whole(*args, **kwargs))
        return seen

    with monkeypatch.context() as patch:
        patch.setattr(torch.autograd, "grad", spy)
        job()
    return seen


def test_both_sides_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = bench.Problem.of("toy", 1)
    jobs = [
        partial(bench.localized, problem, "fused", features=True),
        partial(bench.localized, problem, "factored", features=True),
        partial(bench.dense, problem, features=True),
    ]
    fused, factored, dense = (captured_gradients(monkeypatch, job) for job in jobs)
    for ours, theirs in zip(fused[:-1], dense[:-1], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3 * theirs.abs().max().item())
    # The dense side's gradient of x covers zeros too; ours has the entries that are there.
    torch.testing.assert_close(factored[-1], fused[-1], rtol=1e-3, atol=1e-2)
    entries = dense[-1][problem.x != 0]
    torch.testing.assert_close(
        entries, fused[-1], rtol=1e-3, atol=1e-3 * entries.abs().max().item()
    )


def test_times_are_of_the_jobs_and_take_turns() -> None:
    order: list[str] = []

    def job(name: str, pause: float) -> None:
        order.append(name)
        time.sleep(pause)

    jobs = {"a": partial(job, "a", 0.002), "b": partial(job, "b", 0.02)}
    times = side_by_side(jobs, 3)
    assert 0.002 <= times["a"] < times["b"] and times["b"] >= 0.02
    assert "".join(order).replace("aa", "a").replace("bb", "b") == "ab" * 4


def test_memory_is_that_of_the_job() -> None:
    small, large = extra_peak_mb(hungry, 8), extra_peak_mb(hungry, 108)
    if small is None or large is None:
        pytest.skip("this system does not tell a process's high-water mark")
    assert 80 < large - small < 120


def test_memory_that_the_first_call_freed_counts() -> None:
    taken = extra_peak_mb(hungry_in_pieces, 100)
    assert taken is None or 90 < taken < 130


def test_memory_is_measured_on_as_many_threads_as_we_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    taken = extra_peak_mb(as_many_hundred_megabytes_as_threads)
    assert taken is None or 280 < taken < 330


def test_a_job_that_fails_is_not_a_system_that_does_not_tell() -> None:
    with pytest.raises(RunError, match="ended early"):
        extra_peak_mb(broken)


@pytest.mark.parametrize(("name", "says"), [("x.foo", "not a plot"), ("none/x.png", "folder")])
def test_a_plot_that_cannot_be_drawn_is_refused_before_anything_is_measured(
    tmp_path: Path, name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "bench_scale", lambda *_: pytest.fail("measured"))
    result = CliRunner().invoke(app, ["bench", "scale", "--plot", str(tmp_path / name)])
    assert isinstance(result.exception, InputError) and says in str(result.exception)


@pytest.mark.slow
def test_scale_measures_and_draws(tmp_path: Path) -> None:
    figures = bench_scale((500, 1000), progress=lambda line: None, seeds=100)
    points = figures["points"]
    assert [point["nodes"] for point in points] == [500, 1000]
    assert all(point["edges"] > 10 * point["nodes"] for point in points)
    costs = [point["seconds_per_seed"] for point in points]
    assert min(costs) > 0 and figures["flatness"] == max(costs) / min(costs)
    assert all(0 <= point["anonymous_mb"] <= point["peak_mb"] for point in points)
    plot_scale(figures, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("sizes", ["", "1e4", "100,-5", "0", "a"])
def test_sizes_that_are_no_numbers_are_refused(sizes: str) -> None:
    result = CliRunner().invoke(app, ["bench", "scale", "--sizes", sizes])
    assert isinstance(result.exception, InputError) and "--sizes" in str(result.exception)


def test_a_graph_that_does_not_fit_on_the_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no room for a graph .* --folder"):
        bench_scale((10**12,), tmp_path, progress=lambda line: None)
    assert [*tmp_path.iterdir()] == []


def test_a_process_under_a_limit_ends_where_it_needs_more() -> None:
    try:
        with memory_limit(300_000_000) as group:
            with pytest.raises(RunError, match="ended early"):
                in_child(fill_in_group, group, 1000)
            assert in_child(fill_in_group, group, 1) == 1
        assert not group.exists()
    except InputError as refused:
        pytest.skip(str(refused))


def test_resident_memory_is_watched_while_it_is_there() -> None:
    peak, anonymous = in_child(fill_and_watch, 200)
    assert peak is None or (anonymous > 200 and peak >= anonymous)


# Of one time less another: on a busy machine, a single repeat may come out below zero.
DIFFERENCES = {"share_of_peak_backward"}


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        pytest.param(
            "messages",
            {
                "fused_s",
                "factored_s",
                "dense_s",
                "reference_s",
                "speedup_vs_dense",
                "speedup_vs_factored",
                "extra_peak_mb",
                "heads8_speedup",
                "share_of_peak_forward",
                "share_of_peak_backward",
                "penalty_share_of_peak",
            },
            marks=pytest.mark.slow,
        ),
        (
            "epoch",
            {
                "lgcn_s",
                "lgat_s",
                "lgin_s",
                "pyg_gcn_s",
                "ratio_vs_pyg_gcn",
                "our_gcn_s",
                "ratio_vs_our_gcn",
                "sage_s",
                "pyg_sage_s",
                "ratio_vs_pyg_sage",
                "official_step_s",
                "pyg_gcn_input_dropout_share",
                "checks_share",
            },
        ),
    ],
)
def test_commands_print_the_promised_keys(command: str, keys: set[str]) -> None:
    args = ["bench", command, "--dataset", "toy", "--repeats", "1", "--quiet", "--json"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout.splitlines()[-1])
    assert keys <= figures.keys()
    measured = {key: figures[key] for key in keys - DIFFERENCES if figures[key] is not None}
    assert {key: value for key, value in measured.items() if value <= 0} == {}
