"""`python -m tests.fuzz --minutes 10`: damaged files until the time is over; `make fuzz` runs it.

Each reader may return or raise a `NodewiseError`, within ten seconds, in a process below 1 GB. What
does something else is kept in `tests/fuzz/found`, where a test reads it from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.engine import fuzz
from tests.fuzz.targets import targets

FOUND = Path(__file__).parent / "found"


def main() -> int:
    """Fuzz, and report how many inputs there were and what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", action="append", choices=sorted(targets()))
    options = parser.parse_args()
    until, counts, bad = time.time() + 60 * options.minutes, Counter[str](), dict[str, str]()
    names, seed = options.target or sorted(targets()), options.seed
    print(f"seed {seed}, {len(names)} targets, {options.minutes:g} minutes", flush=True)
    while time.time() < until:
        _supervise(names, seed, until, counts, bad)
        seed += 1  # the process died, or its memory has grown: a new one
    for name in names:
        print(f"{name:20} {counts[name]:8}")
    print(f"{sum(counts.values())} inputs, {len(bad)} found")
    return 1 if bad else 0


def _supervise(
    names: list[str], seed: int, until: float, counts: Counter[str], bad: dict[str, str]
) -> None:
    """Run a process to its end, and note what it has found; its death is a finding, too."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="nodewise-fuzz-") as folder:
        os.environ["TMPDIR"] = folder
        queue: Any = context.SimpleQueue()
        process = context.Process(target=fuzz, args=(names, seed, until, folder, queue))
        process.start()
        while process.is_alive() or not queue.empty():
            if queue.empty():
                time.sleep(0.02)
                continue
            name, outcome, content = queue.get()
            counts[name] += 1
            if outcome is not None:
                _keep(name, outcome, content, bad)
                if outcome.endswith(" MB"):
                    process.kill()
                    break
        process.join()
        if process.exitcode == 1:
            raise SystemExit("the fuzzing itself failed, see above")
        current = Path(folder) / "current"
        if process.exitcode not in (0, -signal.SIGKILL) and current.exists():
            name, _, content = current.read_bytes().partition(b"\n")
            _keep(name.decode(), f"died with {process.exitcode}", content, bad)


def _keep(name: str, outcome: str, content: bytes, bad: dict[str, str]) -> None:
    """Keep a case, one for each outcome."""
    key = f"{name}: {''.join(c for c in outcome if not c.isdigit())[:90]}"
    if key in bad:
        return
    bad[key] = outcome
    path = FOUND / f"{name}--{hashlib.sha256(content).hexdigest()[:12]}"
    path.write_bytes(content)
    print(f"FOUND {path.name} ({len(content)} bytes): {outcome}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
