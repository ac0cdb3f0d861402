"""Runs as releases before 0.6 wrote them: without a manifest."""

from __future__ import annotations

from pathlib import Path

import nodewise as nw


def as_of_earlier_release(run: Path) -> None:
    """Make a finished run one of release 0.5."""
    (run / "manifest.json").unlink(missing_ok=True)
    for path in (run / "config.toml", run / "result.json"):
        path.write_text(path.read_text().replace(f'"{nw.__version__}"', '"0.5.0"'))
