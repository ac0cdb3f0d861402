"""Valid files, damaged: blindly, in their numbers and texts, or within JSON, gzip and ZIP."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]

_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_NUMBERS = (b"-1", b"0", b"1e308", b"1e999", b"nan", b"-inf", b"9" * 30, b"1" * 5000, b"0.5", b"")
_BYTES = (b"\0", b"\xff", b'"', b"\n", b",", b"\t", b"[" * 3000, b"{", b"}", b"\x80", b"=", b"'")
_ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 2**63, 10**40, 1e308, float("nan"), float("inf"), "", "x", "\udcff"),
    *("x" * 5000, [], [[]], {}, {"a": 1}, [None], "nan", "1e999", 0.5, [0] * 1000),
)


def mutated(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """A valid file with one to four changes.

    Args:
        draw: Draws them.
        content: The file.
        others: Files of the same kind, to take parts from.
    """
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        content = draw.choice(_MUTATIONS)(draw, content, others)
    return content


def _place(draw: Random, content: bytes) -> int:
    # Headers are at the start, and archives have their directory at the end.
    near = draw.randrange(min(len(content), 200) + 1)
    return draw.choice((draw.randrange(len(content) + 1), near, len(content) - near))


def _flip(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    at = min(_place(draw, content), len(content) - 1)
    flipped = bytes([content[at] ^ (1 << draw.randrange(8))]) if content else b""
    return content[:at] + flipped + content[at + 1 :]


def _replace(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    at, size = _place(draw, content), draw.choice((1, 1, 2, 4, 8))
    new = draw.choice((draw.randbytes(size), b"\xff" * size, b"\0" * size))
    return content[:at] + new + content[at + size :]


def _insert(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    at = _place(draw, content)
    return content[:at] + draw.choice(_BYTES) + content[at:]


def _cut(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    first, last = sorted((_place(draw, content), _place(draw, content)))
    return content[:first] if draw.random() < 0.3 else content[:first] + content[last:]


def _repeat(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    first, last = sorted((_place(draw, content), _place(draw, content)))
    return content[:last] + content[first:last][:10_000] * draw.choice((1, 2, 20)) + content[last:]


def _splice(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = draw.choice(others)
    return content[: _place(draw, content)] + other[_place(draw, other) :]


def _number(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(content[:100_000]))
    if not found:
        return content
    number = draw.choice(found)
    return content[: number.start()] + draw.choice(_NUMBERS) + content[number.end() :]


def _in_json(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """JSON, or lines of it, with a value, a key or an entry changed."""
    lines = content.splitlines() if content.count(b"\n") > 1 and content[:1] == b"{" else [content]
    try:
        json.loads(content)
        lines = [content]
    except ValueError:
        pass
    at = draw.randrange(len(lines))
    try:
        tree = {"": json.loads(lines[at])}
    except (ValueError, RecursionError):
        return content
    _change(draw, tree)
    lines[at] = json.dumps(tree.get("")).encode()
    return b"\n".join(lines) + b"\n"


def _change(draw: Random, tree: Any) -> None:
    """Change something below a list or an object."""
    for _ in range(20):
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = draw.choice(keys)
        below = tree[key]
        if isinstance(below, dict | list) and below and draw.random() < 0.85:
            tree = below
            continue
        if draw.random() < 0.2:
            del tree[key]
        elif draw.random() < 0.2 and isinstance(tree, list):
            tree += tree[: draw.randrange(1, 50)]
        else:
            tree[key] = draw.choice(_ODD)
        return


def _in_gzip(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    try:
        inner = gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return content
    return gzip.compress(mutated(draw, inner, [inner]), mtime=0)


def _in_zip(draw: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """An archive with one member changed, left out, or renamed; its checksums are right."""
    out = io.BytesIO()
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # what is damaged already fails in many ways
        return content
    if not members:
        return content
    name = draw.choice(list(members))
    if draw.random() < 0.2:
        members[draw.choice(list(members))] = members.pop(name)
    elif draw.random() < 0.2:
        members[name] = draw.choice(list(members.values()))
    else:
        members[name] = mutated(draw, members[name], list(members.values()))
    try:
        with ZipFile(out, "w", ZIP_DEFLATED) as archive:
            for name, member in members.items():
                archive.writestr(name, member)
    except (BadZipFile, ValueError):
        return content
    return out.getvalue()


_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _replace, _insert, _cut, _repeat, _splice, _number, _number),
    *(_in_json, _in_json, _in_gzip, _in_zip, _in_zip),
)
