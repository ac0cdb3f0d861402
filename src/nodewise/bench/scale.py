"""`nodewise bench scale`: the time of a training node as the graph grows, in files.

Each point is measured in a separate process: mini-batches with sampled neighbors, features and
edges in memory-mapped files. The numbers of seeds, neighbors and features are the same for all
graphs, so that time per seed would be the same if memory had one speed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import disk_usage, rmtree
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray

from nodewise.bench.memory import in_child, watch_resident
from nodewise.bench.memory_limit import join_group, memory_limit
from nodewise.bench.planted import PlantedGraph
from nodewise.data.sampling.sampler import NeighborSampler
from nodewise.data.splits.split import Split
from nodewise.data.stores.store import GraphStore
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.models.zoo import build_model
from nodewise.randomness import FrozenRandom
from nodewise.training.batching import Batching
from nodewise.training.engines.batch_graph import StoredGraph
from nodewise.training.engines.minibatch import MinibatchEngine
from nodewise.training.freed_memory import keep_freed_memory
from nodewise.training.recipe import load_recipe

SIZES: Final = (10_000, 100_000, 1_000_000, 5_000_000)
MODEL: Final = "LGCN"
# Batches are small, so that nodes rarely repeat in one even where there are few: they would be
# computed once, and small graphs would seem cheaper for a reason that is not memory.
WIDTH: Final = 64
FANOUT: Final = "10,5"
BATCH_SIZE: Final = 64
SETTINGS: Final = {"hidden_channels": WIDTH, "fanout": FANOUT, "batch_size": BATCH_SIZE}
LABELED: Final = 0.5
SEEDS: Final = 8192  # in a pass, at least
PASSES: Final = 5
_COUNTED: Final = 32  # batches
_BYTES_OF_EDGE, _BYTES_OF_NODE = 4, 17  # in a store, besides features


def bench_scale(
    sizes: Sequence[int] = SIZES,
    folder: Path | None = None,
    limit: int | None = None,
    progress: Callable[[str], None] = print,
    settings: Mapping[str, Any] = SETTINGS,
    seeds: int = SEEDS,
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command.

    Args:
        sizes: Numbers of nodes.
        folder: Where graphs are written, and kept for the next time; None for a temporary folder.
        limit: How many bytes of memory each process may use, page cache included; None for all.
        progress: Called with a line for each step.
        settings: Keys of the recipe.
        seeds: How many training nodes a timed pass has, at least.

    Raises:
        InputError: The disk is too small, or no limit can be set here.
        RunError: A process ended early, for instance for lack of memory.
    """
    # Of other processes: with more than a few hundredths, times are not those of this machine.
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    points = []
    with _folder_for(folder) as place:
        for size in sizes:
            planted = PlantedGraph(size, labeled=LABELED)
            _check_room(place, planted)
            progress(f"{size:,} nodes: writing")
            graph = planted.write(place / str(size))
            progress(f"{size:,} nodes, {graph.num_edges:,} edges: training")
            points.append(_point(graph, limit, settings, seeds))
            if folder is None:
                rmtree(graph.folder)
    by_clock, by_processor = (
        [point[key] for point in points] for key in ("seconds_per_seed", "cpu_seconds_per_seed")
    )
    return {
        "threads": torch.get_num_threads(),
        "load_average": load,
        "model": MODEL,
        **settings,
        "limit_mb": None if limit is None else limit / 1e6,
        "points": points,
        "flatness": max(by_clock) / min(by_clock),
        # On a busy machine the one to look at.
        "cpu_flatness": max(by_processor) / min(by_processor),
    }


def _point(
    graph: GraphStore, limit: int | None, settings: Mapping[str, Any], seeds: int
) -> dict[str, Any]:
    with ExitStack() as stack:
        group = None if limit is None else stack.enter_context(memory_limit(limit))
        found = in_child(measure, graph.folder, group, dict(settings), seeds)
    return {"nodes": graph.num_nodes, "edges": graph.num_edges, **found}


def measure(
    folder: Path, group: Path | None, settings: Mapping[str, Any], seeds: int
) -> dict[str, Any]:
    """Train on a store; the seconds of a training node, and the peak memory of this process.

    Args:
        folder: The store.
        group: The control group to join first, or None.
        settings: Keys of the recipe.
        seeds: How many training nodes a pass has, at least.
    """
    if group is not None:
        join_group(group)
    keep_freed_memory()  # as `nodewise train` does
    with watch_resident() as resident:
        began = perf_counter()
        graph = GraphStore.open(folder)
        engine, train = engine_of(graph, settings, seeds)
        prepared = perf_counter() - began
        engine.step()  # compiles, and brings pages into memory
        epochs = -(-seeds // len(train))
        taken = [_seconds_of_pass(engine, epochs, len(train)) for _ in range(PASSES)]
    # The least: another process can only make a pass take longer.
    seconds, processor = map(min, zip(*taken, strict=True))
    return {
        "seconds_per_seed": seconds,
        "cpu_seconds_per_seed": processor,
        "peak_mb": resident.peak,
        "anonymous_mb": resident.anonymous,
        "prepare_seconds": prepared,
        **_work(graph, engine.recipe.batching, train),
    }


def engine_of(
    graph: GraphStore, settings: Mapping[str, Any], most: int
) -> tuple[MinibatchEngine, NDArray[np.int64]]:
    """A model on a graph, and its training nodes: `most` of them, if there are as many."""
    split = graph.split
    assert split is not None
    draw = FrozenRandom(0, "seeds of bench scale")
    train = np.sort(split.train[draw.permutation(len(split.train))[:most]])
    few = Split(train, split.val[:1], np.zeros(0, np.int64))
    recipe = load_recipe("nodewise", MODEL, settings=settings)
    torch.manual_seed(0)
    sizes = (graph.num_features, len(graph.classes), graph.num_nodes)
    model = cast(Classifier, build_model(MODEL, *sizes, **vars(recipe.architecture)))
    features = recipe.optimization.features
    return MinibatchEngine(model, StoredGraph(graph, few, features), recipe), train


def _work(graph: GraphStore, batching: Batching, train: NDArray[np.int64]) -> dict[str, float]:
    """How many rows are read, and how many edges sampled, for a training node."""
    size, layers = batching.batch_size, 2
    sampler = NeighborSampler(graph.csc, batching.fanouts(layers))
    seeds = train[FrozenRandom(0, "batches of bench scale").permutation(len(train))]
    seeds = seeds[: max(1, min(len(seeds) // size, _COUNTED)) * size]
    found = [sampler.sample(seeds[i : i + size], 0, i) for i in range(0, len(seeds), size)]
    return {
        "rows_per_seed": sum(batch.num_nodes for batch in found) / len(seeds),
        "edges_per_seed": sum(len(batch.row) for batch in found) / len(seeds),
    }


def _seconds_of_pass(engine: MinibatchEngine, epochs: int, seeds: int) -> tuple[float, float]:
    """The seconds of a training node, by the clock and of all threads together."""
    began, used = perf_counter(), process_time()
    for _ in range(epochs):
        engine.step()
    count = epochs * seeds
    return (perf_counter() - began) / count, (process_time() - used) / count


@contextmanager
def _folder_for(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with TemporaryDirectory(prefix="nodewise-scale-") as place:
        yield Path(place)


def _check_room(folder: Path, graph: PlantedGraph) -> None:
    """Check the disk before minutes are spent on writing.

    Raises:
        InputError: There is no room for the graph.
    """
    node = 4 * graph.width + _BYTES_OF_NODE + _BYTES_OF_EDGE * graph.degree
    needed, free = graph.num_nodes * node, disk_usage(folder).free
    if needed > free:
        raise InputError(
            str(folder),
            f"has no room for a graph of {graph.num_nodes:,} nodes, {needed / 1e9:.1f} GB",
            value=f"{free / 1e9:.1f} GB",
            way_out="name a folder on a larger disk with --folder, or smaller --sizes",
        )


def check_plot(path: Path) -> None:
    """Check that a plot can be written, before anything is measured.

    Raises:
        InputError: It cannot.
    """
    if path.suffix not in (".png", ".svg", ".pdf"):
        way_out = "name a .png, .svg or .pdf file"
        raise InputError("--plot", "is not a plot's file name", value=path, way_out=way_out)
    if not path.parent.is_dir():
        raise InputError(
            "--plot", "its folder does not exist", value=path, way_out="create the folder"
        )


def plot_scale(figures: dict[str, Any], path: Path) -> None:
    """Draw the time of a training node against the number of nodes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    nodes = [point["nodes"] for point in figures["points"]]
    cost = [1e6 * point["seconds_per_seed"] for point in figures["points"]]
    axes.plot(nodes, cost, "o-", color="#0072B2")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.25 * max(cost))
    axes.set_xlabel("nodes")
    axes.set_ylabel("microseconds per training node")
    axes.set_title(
        f"{figures['model']}, width {figures['hidden_channels']}, {figures['fanout']} neighbors "
        f"at each hop, {figures['threads']} threads"
    )
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
