"""Write the table of docs/licenses.md: what an installation brings along, and under which licenses.

Run it after a change of dependencies, `python docs/make_licenses.py`; a test checks the page. It
reads the metadata of the packages that are installed beside it, and needs no network.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from markers import ROOT, Maker, write
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# What a user can ask for; `dev` and `docs` are for people who change nodewise.
EXTRAS = ("explorer", "search", "track")


def licenses() -> str:
    """A row for each package, with who needs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {"nodewise": project["dependencies"]}
    wanted |= {f"`{extra}`": project["optional-dependencies"][extra] for extra in EXTRAS}
    reached = {name: _closure(requirements) for name, requirements in wanted.items()}
    lines = ["| package | version | license | needed by |", "|---|---|---|---|"]
    for package in sorted(set().union(*reached.values())):
        users = [name for name, packages in reached.items() if package in packages]
        # An extra needs what nodewise needs, too.
        lines.append(
            f"| {_row(package)} | {users[0] if users[0] == 'nodewise' else ', '.join(users)} |"
        )
    return "\n".join(lines)


def _row(package: str) -> str:
    found = _find(package)
    if found is None:
        return f"{package} | {_pins().get(package, '')} | not in the development environment"
    return f"{package} | {found.version} | {license_of(found.metadata)}"


def license_of(metadata: Any) -> str:
    """The license that a package's metadata names: an SPDX expression, a classifier, or a line."""
    if metadata.get("License-Expression"):
        return str(metadata["License-Expression"])
    kinds = [kind for kind in metadata.get_all("Classifier") or [] if kind.startswith("License ::")]
    if kinds:
        return ", ".join(kind.split(" :: ")[-1] for kind in kinds)
    line = str(metadata.get("License") or "").split("\n")[0].strip()
    return line or "not named"


def _closure(requirements: Iterable[str]) -> set[str]:
    """Canonical names of all packages that these requirements bring, directly or not."""
    reached: set[str] = set()
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        one = waiting.pop()
        key = canonicalize_name(one.name), tuple(sorted(one.extras))
        if key in seen:
            continue
        seen.add(key)
        reached.add(key[0])
        found = _find(key[0])
        for text in (found.requires or []) if found else []:
            below = Requirement(text)
            extras = ("", *one.extras)
            if below.marker is None or any(below.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(below)
    return reached


def _find(package: str) -> Distribution | None:
    try:
        return distribution(package)
    except PackageNotFoundError:
        return None


def _pins() -> dict[str, str]:
    """The pinned versions, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {canonicalize_name(name): version for name, version in pairs}


MAKERS: dict[str, Maker] = {"licenses": licenses}

if __name__ == "__main__":
    write(MAKERS)
