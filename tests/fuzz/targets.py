"""What is fuzzed: for each kind of file, valid ones, and the reader of one that was damaged."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import pandas as pd
import torch
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data.published.readers import read_planetoid
from nodewise.data.read_graph import read_graph
from nodewise.data.splits.split import Split
from nodewise.data.stores.writer import ARRAYS
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.writers.store import write_store
from nodewise.data.writers.write_graph import write_graph
from nodewise.experiments.auto.candidates import CandidateSet
from nodewise.experiments.auto.selection import Selection, choose_into
from nodewise.experiments.run_record import RUN_FIELDS
from nodewise.experiments.table import RecordTable
from nodewise.io import SEAL, load_tensors, save_tensors
from nodewise.report.run import write_report
from nodewise.runs.controls import controls_in
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from nodewise.runs.sources import files_source, load_source, make_task
from nodewise.runs.task import Task
from nodewise.training.recipe import load_recipe
from tests.data.raw_files import planetoid_files
from tests.runs.earlier import as_of_earlier_release
from tests.training.tasks import small_task

CHECKPOINT = "checkpoint/last.safetensors"
SEALED = ("choice.json", "controls.json", "manifest.json", "summary.json")


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Attributes:
        seeds: Valid files.
        read: Reads a file's bytes; a scratch folder is the second argument.
    """

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes, Path], object]


@cache
def workshop() -> Path:
    """A folder with graphs and runs, made once in a process."""
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="nodewise-fuzz-"))
    _make_tables(folder, 40)
    (folder / "few").mkdir()
    _make_tables(folder / "few", 8)
    graph = nw.read_graph(folder / "few" / "nodes.csv", folder / "few" / "edges.csv", label="label")
    for name in ("graph.npz", "graph.node"):
        (folder / name.replace(".", "-")).mkdir()
        write_graph(graph.data, folder / name.replace(".", "-") / name)
    table = pd.read_csv(folder / "few" / "nodes.csv")
    # Every kind of column by itself, since a table is read up to its first fault only.
    for number, columns in enumerate((["age"], ["color"], ["words"], list(table.columns[2:]))):
        part = table[["id", "label", *columns]]
        for kind in ("csv", "tsv", "parquet"):
            (folder / f"nodes-{kind}").mkdir(exist_ok=True)
            path = folder / f"nodes-{kind}" / f"{number}.{kind}"
            if kind == "parquet":
                part.to_parquet(path, index=False)
            else:
                part.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    store = nw.read_graph(folder / "nodes.csv", folder / "edges.csv", weight="weight")
    write_store(store, folder / "store")
    _make_runs(folder)
    return folder


def _make_tables(folder: Path, count: int) -> None:
    """Tables of a small graph; every input costs what its rows and columns cost."""
    nodes = "id,label,age,color,words\n" + "".join(
        f'n{i},{"xy"[i % 2]},{i},{["red", "blue"][i % 3 == 0]},"some, {"abc"[i % 3] * 3} words"\n'
        for i in range(count)
    )
    (folder / "nodes.csv").write_text(nodes)
    edges = "".join(f"n{i},n{(7 * i + 1) % count},{i % 5}\n" for i in range(count))
    (folder / "edges.csv").write_text("source,target,weight\n" + edges)


def _make_runs(folder: Path) -> None:
    """A run of tables, one that was stopped, and one that was chosen."""
    tables = {"nodes": str(folder / "nodes.csv"), "edges": str(folder / "edges.csv")}
    options = nw.ReadOptions(text=("words",))
    table = load_source(files_source(tables, options))
    settings = {"epochs": 6, "hidden_channels": 4, "patience": 6}
    task = make_task(table, "LGCN", load_recipe("nodewise", "LGCN", None, settings))
    train_in(folder / "run", task, 0)
    controls_in(folder / "run", task)
    shutil.copytree(folder / "run", folder / "earlier")
    as_of_earlier_release(folder / "earlier")  # a manifest would have every change refused
    lines: list[object] = []
    train_in(folder / "stopped", _brief(), 0, Callbacks(lines.append, lambda: len(lines) == 2))
    few = CandidateSet.load().of_model("GCN")
    selection = Selection(
        folder / "chosen",
        lambda model, recipe: make_task(table, model, recipe),
        fixed=settings,
        candidate_set=few,
        budget=3.0,
    )
    _, chosen = choose_into(folder / "chosen", selection)
    train_in(folder / "chosen", chosen, 0)


@cache
def _brief() -> Task:
    """A run of three epochs."""
    return small_task(epochs=3, start_record_epoch=1)


def targets() -> dict[str, Target]:
    """All targets by name."""
    tables = {name: Target(partial(_graph, f"nodes-{name}"), _read_nodes(f"nodes.{name}"))
              for name in ("csv", "tsv", "parquet")}  # fmt: skip
    in_run = {
        name: Target(partial(_file, f"earlier/{name}"), partial(_read_run, name))
        for name in ("config.toml", "result.json", "history.jsonl", "diagnostics.json",
                     "preprocessing.json", "controls.json", "model.safetensors")
    }  # fmt: skip
    in_store = {
        f"store-{name}": Target(partial(_file, f"store/{name}"), partial(_read_store, name))
        for name in ("store.json", *(f"{array}.npy" for array in ARRAYS if array != "part"))
    }
    return {
        **tables,
        **in_store,
        "gzip": Target(_packed, _read_nodes("nodes.csv.gz")),
        "edges": Target(partial(_file, "few/edges.csv"), _read_edges),
        "npz": Target(partial(_graph, "graph-npz"), _read_nodes("graph.npz", edges=False)),
        "released": Target(partial(_graph, "graph-node"), _read_released),
        "planetoid": Target(_planetoid_seeds, _read_planetoid),
        "recipe": Target(_recipes, _read_recipe),
        "split": Target(_splits, lambda content, folder: Split.load(_write(folder, content))),
        "records": Target(_records, _read_records),
        "tensors": Target(partial(_file, "run/model.safetensors"), _read_tensors),
        "checkpoint": Target(_checkpoints, _read_checkpoint),
        "choice.json": Target(partial(_file, "chosen/choice.json"), _read_choice),
        "manifest.json": Target(partial(_file, "run/manifest.json"), _read_manifest),
        **in_run,
    }


def _write(folder: Path, content: bytes, name: str = "file") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def _file(name: str) -> list[bytes]:
    return [_unsealed((workshop() / name).read_bytes())]


def _unsealed(content: bytes) -> bytes:
    """The seal of a JSON object would have every change refused."""
    if SEAL.encode() not in content:
        return content
    return json.dumps({k: v for k, v in json.loads(content).items() if k != SEAL}).encode()


def _graph(folder: str) -> list[bytes]:
    found = sorted((workshop() / folder).iterdir())
    return [path.read_bytes() for path in found if "edge" not in path.name]


def _packed() -> list[bytes]:
    return [gzip.compress(content, mtime=0) for content in _graph("nodes-csv")]


def _read_nodes(name: str, edges: bool = True) -> Callable[[bytes, Path], object]:
    def read(content: bytes, folder: Path) -> object:
        path = _write(folder, content, name)
        if not edges:
            return read_graph(path)
        return read_graph(path, workshop() / "few" / "edges.csv", label="label")

    return read


def _read_edges(content: bytes, folder: Path) -> object:
    edges = _write(folder, content, "edges.csv")
    nodes = workshop() / "few" / "nodes.csv"
    return read_graph(nodes, edges, label="label", weight="weight", features=["age"])


def _read_released(content: bytes, folder: Path) -> object:
    nodes = _write(folder, content, "graph.node")
    shutil.copy(workshop() / "graph-node" / "graph.edge", folder / "graph.edge")
    return read_graph(nodes, folder / "graph.edge")


_planetoid_files = cache(planetoid_files)


def _planetoid_seeds() -> list[bytes]:
    return list(_planetoid_files().values())


def _read_planetoid(content: bytes, folder: Path) -> object:
    """In the place of the part that is nearest in size: mostly the one that was damaged."""
    parts = _planetoid_files()
    name = min(parts, key=lambda name: abs(len(parts[name]) - len(content)))
    return read_planetoid({**parts, name: content})


def _recipes() -> list[bytes]:
    found = (files("nodewise.training") / "recipes").iterdir()
    return [path.read_bytes() for path in found if path.name.endswith(".toml")]


def _read_recipe(content: bytes, folder: Path) -> object:
    return load_recipe(_write(folder, content, "my.toml"), "LGCN", "cora")


def _splits() -> list[bytes]:
    path = workshop() / "split.json"
    small_task().split.save(path)
    return [path.read_bytes()]


def _records() -> list[bytes]:
    record = json.loads((workshop() / "run" / "result.json").read_text())
    about = {"dataset": "cora", "model": "GCN", "variant": "official"}
    return [b"".join(json.dumps({**record, **about, "seed": i}).encode() + b"\n" for i in (0, 1))]


def _read_records(content: bytes, folder: Path) -> object:
    found = RecordTable(_write(folder, content, "main.jsonl"), RUN_FIELDS).read()
    assert all(isinstance(line.record, dict) for line in found.lines.values())
    return found


def _read_tensors(content: bytes, folder: Path) -> object:
    return load_tensors(_write(folder, content))


def _copy(name: str, folder: Path) -> Path:
    shutil.copytree(workshop() / name, folder / "run", ignore=shutil.ignore_patterns("candidates"))
    return folder / "run"


def _read_run(name: str, content: bytes, folder: Path) -> object:
    """All that reads a run's folder."""
    run = _copy("earlier", folder)
    (run / name).write_bytes(content)
    if name in ("diagnostics.json", "history.jsonl", "controls.json"):
        write_report(folder / "report.html", [run])
        return None
    saved = load_run(run)
    return saved.predict(_encoded(run) if name == "preprocessing.json" else _whole())


@cache
def _whole() -> Data:
    """The graph of the run."""
    return _encoded(workshop() / "run")


def _encoded(run: Path) -> Data:
    """The run's tables, read with its preprocessing."""
    tables = [workshop() / "nodes.csv", workshop() / "edges.csv"]
    fitted = RunFolder(run).preprocessing
    assert isinstance(fitted, Preprocessing)
    return read_graph(*tables, preprocessing=fitted).data


def _read_store(name: str, content: bytes, folder: Path) -> object:
    shutil.copytree(workshop() / "store", folder / "store")
    (folder / "store" / name).write_bytes(content)
    return read_graph(folder / "store")


def _read_manifest(content: bytes, folder: Path) -> object:
    run = _copy("run", folder)
    (run / "manifest.json").write_bytes(content)
    return load_run(run)


def _read_choice(content: bytes, folder: Path) -> object:
    run = _copy("chosen", folder)
    (run / "choice.json").write_bytes(content)
    write_report(run / "report.html", [run])
    return None


def _checkpoints() -> list[bytes]:
    """The file, and its numbers as JSON, which `_read_checkpoint` signs again."""
    path = workshop() / "stopped" / CHECKPOINT
    return [path.read_bytes(), json.dumps(load_tensors(path)[1]).encode()]


def _read_checkpoint(content: bytes, folder: Path) -> object:
    run = _copy("stopped", folder)
    if content[:1] == b"{":
        try:
            about = json.loads(content)
        except (ValueError, RecursionError):
            return None
        tensors, _ = load_tensors(run / CHECKPOINT)
        save_tensors(run / CHECKPOINT, tensors, about)
    else:
        (run / CHECKPOINT).write_bytes(content)
    return train_in(run, _brief(), 0)


def quietly(target: Target, content: bytes) -> object:
    """Read a damaged file in a folder of its own; warnings do not matter here."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return target.read(content, Path(folder))
