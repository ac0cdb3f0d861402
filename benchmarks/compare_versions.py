"""Epochs of two versions of nodewise, side by side: is this tree as fast as that one?

    git worktree add ../before v0.4.4
    python benchmarks/compare_versions.py ../before/src src --dataset cora

Each version runs in a separate process, and the two take turns, step by step, so that both are
timed under the same conditions. A step is a training step of the recipe `paper` as `nodewise train`
takes it; `squares` and `edges` are the penalty and the edge level of layer 1, forward and backward,
on the whole graph. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from statistics import median

CHILD = """
import sys, time
import torch
from nodewise.bench import messages
from nodewise.ops import dispatch
from nodewise.training.recipe import load_recipe
settings = []
try:
    from nodewise.runs.sources import dataset_source, load_source, make_task
except ImportError:  # before 0.6.0
    try:
        from nodewise.runs.task import dataset_source, load_source, make_task
    except ImportError:  # before 0.5.0
        from nodewise.training.task import dataset_source, load_source, make_task
        settings = [dataset_source(sys.argv[1])]

dataset, answer = sys.argv[1], sys.stdout
sys.stdout = sys.stderr
graph, jobs = load_source(dataset_source(dataset)), {}

def epoch(model):
    recipe = load_recipe("paper", model, dataset)
    return make_task(graph, *settings, model, recipe).engine().step

def squares():
    problem = messages.Problem.of(dataset, 1)
    codes = [code.detach().requires_grad_() for code in messages._codes(problem, problem.rows)]
    return lambda: messages.penalty(problem, *codes)

def edges():
    problem = messages.Problem.of(dataset, 1)
    block, nodes = problem.block, len(problem.x)
    neighbors = block.neighbors if hasattr(block, "neighbors") else block.hood  # before 0.5.0
    rows = [neighbors.num_edges] + [nodes] * 4
    z, *halves = (torch.randn(n, 1, 8).requires_grad_() for n in rows)
    def job():
        out, a, b = dispatch.modulate_edges(z, halves[:2], halves[2:], neighbors)
        torch.autograd.grad(out.sum() + a + b, [z, *halves])
    return job

for line in sys.stdin:
    name = line.strip()
    if name not in jobs:
        torch.manual_seed(0)
        jobs[name] = {"squares": squares, "edges": edges}.get(name, lambda: epoch(name))()
        jobs[name]()
    jobs[name]()
    began = time.perf_counter()
    jobs[name]()
    print(time.perf_counter() - began, file=answer, flush=True)
"""


def start(source: str, dataset: str) -> subprocess.Popen[str]:
    """A process that times the code under `source`, one job for every line it is sent."""
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-W", "ignore", "-c", CHILD, dataset]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)


def ask(child: subprocess.Popen[str], name: str) -> float:
    """The seconds of one more step."""
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(name + "\n")
    child.stdin.flush()
    return float(child.stdout.readline())


def main() -> None:
    """Time both versions and print a line for every job."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", help="folder that holds the package `nodewise` of one version")
    parser.add_argument("after", help="the same of the other version")
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--jobs", nargs="+", default=["LGCN", "LGIN", "LGAT", "squares", "edges"])
    parser.add_argument("--repeats", type=int, default=25)
    args = parser.parse_args()
    for path in (args.before, args.after):
        if not os.path.isdir(os.path.join(path, "nodewise")):
            parser.error(f"{path} holds no package `nodewise`")  # else the installed one is timed
    children = [start(os.path.abspath(path), args.dataset) for path in (args.before, args.after)]
    figures: dict[str, dict[str, float]] = {}
    for name in args.jobs:
        times: list[list[float]] = [[], []]
        for child in children:
            ask(child, name)  # compile
        for _ in range(args.repeats):
            for child, taken in zip(children, times, strict=True):
                taken.append(ask(child, name))
        before, after = map(median, times)
        figures[name] = {"before_s": before, "after_s": after, "speed": before / after}
        print(f"{name:10} {1e3 * before:8.2f} ms -> {1e3 * after:8.2f} ms   {before / after:.2f} x")
    for child in children:
        child.communicate()
    print(json.dumps({"dataset": args.dataset, **figures}))


if __name__ == "__main__":
    main()
