"""`python -m tests.fuzz --minutes 10`: damaged files until the time is over; `make fuzz` runs it.

Each reader may return or raise a `NodewiseError`, within ten seconds, in a process below 1 GB. What
does something else is kept in `tests/fuzz/found`, where a test reads it from then on. The target
with the fewest inputs is next. `--inputs 100000 --counts FILE` goes on, over several calls, until
each target has had so many.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from dataclasses import replace
from math import inf
from pathlib import Path

from nodewise.io import json_bytes, write_bytes
from tests.fuzz.engine import Work, fuzz
from tests.fuzz.targets import targets

FOUND = Path(__file__).parent / "found"
_SILENCE = 900  # seconds after which a process hangs; compiling and training come first
_SAVED = 100  # inputs of a target after which all counts are written
_MEMORY = Path("/dev/shm")  # folders are made and deleted there ten times as fast


def main() -> int:
    """Fuzz, and report how many inputs there were and what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="10, unless there is --inputs")
    parser.add_argument("--inputs", type=float, default=inf, help="how many for each target")
    parser.add_argument("--counts", type=Path, help="a file that counts inputs over several calls")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", action="append", choices=sorted(targets()))
    options = parser.parse_args()
    minutes = options.minutes or (10 if options.inputs == inf else inf)
    counts = dict.fromkeys(options.target or sorted(targets()), 0)
    if options.counts and options.counts.exists():
        before = json.loads(options.counts.read_text())
        counts = {name: before.get(name, 0) for name in counts}
    work, bad = Work(options.seed, counts, time.time() + 60 * minutes, options.inputs), set[str]()
    print(f"seed {work.seed}, {len(counts)} targets", flush=True)
    while work.next() is not None:
        _supervise(work, bad, options.counts)
        # The process died, or its memory has grown: a new one.
        work = replace(work, seed=work.seed + 1)
    for name, count in counts.items():
        print(f"{name:20} {count:8}")
    print(f"{sum(counts.values())} inputs, {len(bad)} found")
    return 1 if bad else 0


def _supervise(work: Work, bad: set[str], counts: Path | None) -> None:
    """Run a process to its end, and note what it has found; its death is a finding, too."""
    context = multiprocessing.get_context("spawn")
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="nodewise-fuzz-", dir=place) as folder:
        os.environ["TMPDIR"] = folder
        results, theirs = context.Pipe(duplex=False)
        process = context.Process(target=fuzz, args=(work, folder, theirs))
        process.start()
        theirs.close()
        ended = "hangs"
        while results.poll(_SILENCE):
            try:
                name, outcome, content = results.recv()
            except EOFError:
                process.join()
                ended = f"died with {process.exitcode}"
                break
            work.counts[name] += 1
            if counts and (work.counts[name] % _SAVED == 0 or work.next() is None):
                write_bytes(counts, json_bytes(work.counts))
            if outcome is not None:
                _keep(name, outcome, content, bad)
                if outcome.endswith(" MB"):
                    process.kill()
        process.kill()
        process.join()
        if process.exitcode == 1:
            raise SystemExit("the fuzzing itself failed, see above")
        current = Path(folder) / "current"
        expected = ("died with 0", f"died with {-signal.SIGKILL}")
        if ended not in expected and current.exists():
            name, _, content = current.read_bytes().partition(b"\n")
            _keep(name.decode(), ended, content, bad)


def _keep(name: str, outcome: str, content: bytes, bad: set[str]) -> None:
    """Keep a case, one for each outcome."""
    key = f"{name}: {''.join(c for c in outcome if not c.isdigit())[:90]}"
    if key in bad:
        return
    bad.add(key)
    path = FOUND / f"{name}--{hashlib.sha256(content).hexdigest()[:12]}"
    path.write_bytes(content)
    print(f"FOUND {path.name} ({len(content)} bytes): {outcome}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
