from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from nodewise.data.published import cache
from nodewise.data.published.cache import cached
from nodewise.data.published.catalog import Dataset
from nodewise.data.published.readers import RawGraph, read_planetoid
from nodewise.errors import RawFileError
from tests.data.raw_files import mini_dataset, planetoid_files, write_files

FILES = planetoid_files()


@dataclass
class Setting:
    """A data set on disk, a cache of its own, and a count of how often it was parsed."""

    root: Path
    cache_file: Path
    dataset: Dataset
    builds: list[int] = field(default_factory=list)

    def load(self) -> RawGraph:
        def build() -> RawGraph:
            self.builds.append(1)
            graph = self.dataset._read(self.root)
            return replace(graph, feature_names=("a", "b", "c", "d"))

        return cached(self.dataset.name, self.dataset.files, self.root, build)


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path / "cache"))
    write_files(FILES, tmp_path / "root" / "mini")
    cache_file = tmp_path / "cache" / "processed" / "mini.safetensors"
    return Setting(tmp_path / "root", cache_file, mini_dataset(FILES))


def assert_equal(one: RawGraph, other: RawGraph) -> None:
    assert one.x.shape == other.x.shape and one.x.dtype == other.x.dtype
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(one.x, part), getattr(other.x, part))
    assert np.array_equal(one.edge_index, other.edge_index) and np.array_equal(one.y, other.y)
    assert one.edge_index.dtype == other.edge_index.dtype and one.y.dtype == other.y.dtype
    assert one.masks is not None and other.masks is not None
    assert all(map(np.array_equal, one.masks, other.masks))
    assert one.feature_names == other.feature_names and one.class_names == other.class_names


def test_the_second_time_comes_from_the_cache_and_is_equal(setting: Setting) -> None:
    assert_equal(setting.load(), setting.load())
    assert len(setting.builds) == 1
    assert [path.name for path in setting.cache_file.parent.iterdir()] == ["mini.safetensors"]


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1000] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "one bit": flip_a_byte,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"garbage " * 100),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_corrupt_cache_is_made_again(
    setting: Setting, damage: Callable[[Path], object], capfd: pytest.CaptureFixture[str]
) -> None:
    first = setting.load()
    damage(setting.cache_file)
    assert_equal(setting.load(), first)
    assert len(setting.builds) == 2
    setting.load()
    assert len(setting.builds) == 2
    assert capfd.readouterr() == ("", "")


def test_other_code_makes_it_again(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    setting.load()
    monkeypatch.setattr(cache, "_code_version", lambda: "another")
    setting.load()
    assert len(setting.builds) == 2


@pytest.mark.parametrize(
    "name",
    ["index_arrays.py", *(f"published/{name}.py" for name in ("cache", "readers", "safe_pickle"))],
)
def test_the_code_version_is_that_of_the_sources(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cache._code_version()
    shutil.copytree(Path(cache.__file__).parents[1], tmp_path / "data")
    monkeypatch.setattr(cache, "package_files", lambda _: tmp_path / "data")
    assert cache._code_version() == before
    with (tmp_path / "data" / name).open("a") as source:
        source.write("# changed")
    assert cache._code_version() != before


def test_a_touched_raw_file_is_read_again(setting: Setting) -> None:
    setting.load()
    os.utime(setting.root / "mini" / "ind.mini.x", ns=(1, 1))
    setting.load()
    assert len(setting.builds) == 2


def test_an_altered_raw_file_is_noticed_behind_a_valid_cache(setting: Setting) -> None:
    setting.dataset.graph(setting.root)
    path = setting.root / "mini" / "ind.mini.tx"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    os.utime(path, ns=(1, 1))
    with pytest.raises(RawFileError, match="truncated or altered"):
        setting.dataset.graph(setting.root)


def test_a_removed_raw_file_is_asked_for(setting: Setting) -> None:
    setting.dataset.graph(setting.root)
    (setting.root / "mini" / "ind.mini.tx").unlink()
    with pytest.raises(RawFileError, match="could not be downloaded"):
        setting.dataset.graph(setting.root)


def test_a_cache_that_cannot_be_written_only_costs_time(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path / "file"))
    assert_equal(setting.load(), setting.load())
    assert len(setting.builds) == 2


def test_nothing_is_written_into_the_data_root(setting: Setting) -> None:
    before = sorted(setting.root.rglob("*"))
    setting.load()
    assert sorted(setting.root.rglob("*")) == before


def test_a_cache_with_wrong_offsets_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path))
    graph = read_planetoid(planetoid_files())
    broken = graph.x.copy()
    broken.indptr[1:-1], broken.indptr[-1] = 10**9, 0
    cache.cached("mini", (), tmp_path, lambda: replace(graph, x=broken))
    again = cache.cached("mini", (), tmp_path, lambda: graph)
    assert np.array_equal(again.x.toarray(), graph.x.toarray())
