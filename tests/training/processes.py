"""Starts torchrun on a small task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Arguments: the folder, the number of epochs, whether all stop after epoch 5, whether process 1
# is killed in epoch 7 of the first start, and the seconds that each epoch takes at least.
WORKER = """
import os, signal, sys, time
from dataclasses import replace
from pathlib import Path

from nodewise.runs.run import Callbacks, follow, train_in
from nodewise.training.engines.resources import Resources
from nodewise.training.processes import joined_processes
from tests.training.tasks import small_task

folder, epochs, stops, dies, pause = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:])
seen = []

def watch(line):
    seen.append(line["epoch"])
    time.sleep(pause)
    first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    if dies and line["epoch"] == 7 and first and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)

with joined_processes() as processes:
    settings = {"engine": "minibatch", "fanout": "3", "batch_size": 6, "epochs": epochs}
    settings |= {"input_dropout": 0.0}
    task = small_task("LGCN", "nodewise", **settings)
    task = replace(task, resources=Resources(processes=processes))
    asked = processes.rank == processes.count - 1  # not the one that writes, if there are two
    stop = lambda: bool(stops) and seen[-1] == 5 and asked
    callbacks = Callbacks(watch, stop, checkpoint_seconds=0)
    if processes.is_first:
        record = train_in(Path(folder), task, 0, callbacks)
        print("epochs", seen[0], record["epochs"], record["interrupted"], flush=True)
    else:
        follow(task, 0, callbacks)
"""


def command(
    script: Path, folder: Path, *torchrun: str, epochs: int = 12, **options: float
) -> list[str]:
    """What starts the worker under torchrun; `options` are `stops`, `dies` and `pause`."""
    script.write_text(WORKER)
    given = [str(float(options.get(name, 0))) for name in ("stops", "dies", "pause")]
    start = [sys.executable, "-m", "torch.distributed.run", *torchrun]
    return [*start, str(script), str(folder), str(epochs), *given]


def environment() -> dict[str, str]:
    """The environment of a worker: this tree, and one thread."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def torchrun(folder: Path, count: int, **options: float) -> str:
    """Train in a folder with so many processes on this machine; returns what was printed."""
    start = ("--standalone", "--nproc-per-node", str(count), "--max-restarts", "2")
    script = folder.with_suffix(".py")
    done = subprocess.run(
        command(script, folder, *start, **options),  # type: ignore[arg-type]
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
