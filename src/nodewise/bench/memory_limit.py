"""A memory limit for a process by a control group of Linux, where one can be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

from nodewise.errors import InputError

# Where groups are made, and the file of the limit, in the second and the first version.
_KINDS = (
    (Path("/sys/fs/cgroup"), "memory.max"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
)


@contextmanager
def memory_limit(limit: int) -> Iterator[Path]:
    """Yield the folder of a group whose processes may use so many bytes, page cache included.

    Raises:
        InputError: No such group can be made here.
    """
    for root, name in _KINDS:
        group = root / f"nodewise-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if not (group / name).exists():  # no memory controller here
                continue
            (group / name).write_text(str(limit))
            yield group
            return
        except OSError as error:
            raise _refused(str(error)) from error
        finally:
            _remove(group)
    raise _refused("there is no control group with a memory controller that we may write to")


def join_group(group: Path) -> None:
    """Move this process into a group."""
    (group / "cgroup.procs").write_text(str(os.getpid()))


def _refused(reason: str) -> InputError:
    return InputError(
        "--limit",
        f"cannot be set ({reason})",
        way_out="run as root, or in a container with a limit and without this option",
    )


def _remove(group: Path) -> None:
    for _ in range(50):  # a process that has ended leaves it a little later
        with suppress(OSError):
            group.rmdir()
            return
        sleep(0.1)
