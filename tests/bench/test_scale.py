"""Cost of a seed on graphs of growing size."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nodewise.bench import scale
from nodewise.bench.scale import bench_scale, plot_scale
from nodewise.cli.app import app
from nodewise.errors import InputError


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
