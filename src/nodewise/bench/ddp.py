"""`nodewise bench ddp`: the throughput of two processes that train together, against one.

Each process has one thread, which also samples, and batches of the same size: two processes train
batches of twice as many seeds. They read one graph, a store of memory-mapped files, and take turns
with the single process, so that other programs disturb both alike.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from nodewise.bench.planted import PlantedGraph
from nodewise.errors import RunError

BATCH_SIZE: Final = 512  # of each process
FANOUT: Final = 10
_EPOCHS: Final = 3  # the first is not timed
_WORKER: Final = "from nodewise.bench.ddp import worker; worker()"


def bench_ddp(
    num_nodes: int = 500_000, repeats: int = 3, progress: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command.

    Raises:
        RunError: A process failed.
    """
    with TemporaryDirectory(prefix="nodewise-bench-") as folder:
        progress(f"a graph of {num_nodes:,} nodes")
        store = PlantedGraph(num_nodes).write(Path(folder))
        found: dict[int, list[float]] = {1: [], 2: []}
        for repeat in range(repeats):
            for count, speeds in found.items():
                progress(f"{count} process{'es' * (count > 1)}, {repeat + 1} of {repeats}")
                speeds.append(_together(folder, count))
        one, two = (median(speeds) for speeds in found.values())
        return {
            "speedup_2_over_1": two / one,
            "seeds_per_second_1": one,
            "seeds_per_second_2": two,
            "nodes": num_nodes,
            "edges": store.num_edges,
            "batch_size_of_a_process": BATCH_SIZE,
            "fanout": FANOUT,
            "model": "LGCN of width 64",
        }


def _together(folder: str, count: int) -> float:
    """The seeds that so many processes train in a second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, folder],
            env={**shared, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        return _speed_of(started)
    finally:
        for process in started:
            process.kill()


def _speed_of(started: Sequence[subprocess.Popen[str]]) -> float:
    """The output of the first process, when all have ended."""
    said = [process.communicate() for process in started]
    for process, (_, errors) in zip(started, said, strict=True):
        if process.returncode:
            raise RunError("bench ddp", f"a process failed: {errors[-500:]}", way_out="try again")
    return float(said[0][0].split()[-1])


def worker() -> None:
    """Train for some epochs; the first process prints its seeds per second."""
    import torch

    from nodewise.runs.stored_task import store_source, stored_task
    from nodewise.training.engines.minibatch import MinibatchEngine
    from nodewise.training.engines.resources import Resources
    from nodewise.training.processes import joined_processes
    from nodewise.training.recipe import load_recipe

    torch.set_num_threads(1)
    with joined_processes() as processes:
        settings = {
            "engine": "minibatch",
            "hidden_channels": 64,
            "fanout": FANOUT,
            "batch_size": BATCH_SIZE * processes.count,
        }
        recipe = load_recipe("nodewise", "LGCN", None, settings)
        task = stored_task(store_source(sys.argv[1]), "LGCN", recipe)
        torch.manual_seed(0)
        resources = Resources(workers=0, processes=processes)
        engine = MinibatchEngine(task.fresh_model(), task.graph, recipe, resources)  # type: ignore[arg-type]
        taken = []
        for _ in range(_EPOCHS):
            processes.any(False)  # all begin together
            began = perf_counter()
            engine.step()
            taken.append(perf_counter() - began)
        if processes.is_first:
            print(len(task.split.train) / median(taken[1:]))  # to its parent
