"""How many files and functions of nodewise does a CSV row pass on its way to the first epoch?

Writes a graph of eight nodes as nodes.csv and edges.csv, runs `nodewise train --nodes --edges
--label --recipe nodewise` on it in this process, and counts

- the files of nodewise with a function that was entered, and those functions, each once however
  often it was called, between the start of the command and the first epoch: what parses the
  command line, reads and checks the tables, prepares the graph and builds the model. What runs
  while a module is imported is not counted, nor are comprehensions;
- how often the command opened each table from Python, until its end.

Usage:
    python benchmarks/walk_of_a_row.py [--list]

It counts whichever nodewise is imported, so PYTHONPATH=other/src counts another version.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType

import nodewise

SRC = Path(nodewise.__file__).parent
FIRST_EPOCH = (str(SRC / "training" / "loop.py"), "fit")
TABLES = ("nodes.csv", "edges.csv")


def write_tables(folder: Path) -> tuple[Path, Path]:
    """Eight nodes in a ring, of two classes."""
    nodes, edges = (folder / name for name in TABLES)
    rows = [f"n{i},{'ab'[i % 2]},{i % 3},{'xy'[i // 4]}" for i in range(8)]
    nodes.write_text("\n".join(["id,topic,size,kind", *rows]) + "\n")
    ends = [f"n{i},n{(i + 1) % 8}" for i in range(8)]
    edges.write_text("\n".join(["source,target", *ends]) + "\n")
    return nodes, edges


def train(nodes: Path, edges: Path, out: Path) -> None:
    """Run the command as the program does, for two epochs."""
    from nodewise.cli.app import app

    tables = ["--nodes", str(nodes), "--edges", str(edges), "--label", "topic"]
    few = ["--recipe", "nodewise", "--set", "epochs=2", "--set", "hidden_channels=2"]
    rest = ["--threads", "1", "--quiet", "--out", str(out)]
    app(["train", *tables, *few, *rest], standalone_mode=False)


def count_calls(entered: set[CodeType]) -> None:
    """Collect the functions of nodewise that are called, until the first epoch."""

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SRC)):
            return
        if (code.co_filename, code.co_name) == FIRST_EPOCH:
            sys.setprofile(None)
        elif not code.co_name.startswith("<") and not is_import(frame):
            entered.add(code)

    sys.setprofile(called)


def is_import(frame: FrameType | None) -> bool:
    """Whether a frame is part of an import, such as the body of a class or a decorator."""
    while frame is not None:
        if "importlib._bootstrap" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def count_opens(opened: Counter[str]) -> None:
    """Count the files that Python opens, by their names."""

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            opened[Path(str(arguments[0])).name] += 1

    sys.addaudithook(audit)


def main() -> None:
    """Train, and print what was counted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the files and functions, too")
    options = parser.parse_args()
    entered: set[CodeType] = set()
    opened: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        nodes, edges = write_tables(Path(folder))
        count_opens(opened)
        count_calls(entered)
        train(nodes, edges, Path(folder) / "run")
    by_file = defaultdict(list)
    for code in entered:
        by_file[str(Path(code.co_filename).relative_to(SRC))].append(code.co_qualname)
    packages = Counter(file.split("/")[0] for file in by_file)
    functions = Counter[str]()
    for file, names in by_file.items():
        functions[file.split("/")[0]] += len(names)
    for package in sorted(packages):
        print(f"{package:<16} {packages[package]:>3} files {functions[package]:>4} functions")
    print(f"{'all':<16} {len(by_file):>3} files {len(entered):>4} functions")
    print(", ".join(f"{name} opened {opened[name]} times" for name in TABLES))
    if options.list:
        for file in sorted(by_file):
            print(f"{file}: {', '.join(sorted(by_file[file]))}")


if __name__ == "__main__":
    main()
