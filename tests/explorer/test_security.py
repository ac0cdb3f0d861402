from __future__ import annotations

import json
import re
import socket
from hashlib import sha256

import pytest

from nodewise.explorer.app import ASSETS
from nodewise.explorer.security import content_policy, is_local, is_ours, is_same


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8050", "localhost:8050", "[::1]:80", "192.168.1.5", socket.gethostname().lower()],
)
def test_addresses_and_names_of_this_machine_are_served(host: str) -> None:
    assert is_ours(host)


@pytest.mark.parametrize(
    "host", ["", "evil.com", "evil.com:8050", "127.0.0.1.evil.com", "localhost.evil.com", "[::1"]
)
def test_names_of_strangers_are_not(host: str) -> None:
    assert not is_ours(host)


def test_the_name_that_the_server_binds_to_is_ours() -> None:
    assert is_ours("Box.lan:8050", "box.lan") and not is_ours("box.lan", "127.0.0.1")


def test_a_post_comes_from_the_page_itself() -> None:
    host = "127.0.0.1:8050"
    assert is_same("http://127.0.0.1:8050", host)
    for origin in (None, "null", "http://evil.com", "http://127.0.0.1:8051", "http://127.0.0.1"):
        assert not is_same(origin, host)


def test_scripts_run_from_files_or_by_their_hash() -> None:
    rules = dict(rule.split(" ", 1) for rule in content_policy(["'sha256-x'"]).split("; "))
    assert rules["default-src"] == "'none'" and "'sha256-x'" in rules["script-src"]
    assert "unsafe" not in rules["script-src"] and "http" not in str(rules)


def test_plotly_is_the_build_that_compiles_nothing_from_text() -> None:
    text = (ASSETS / "plotly.min.js").read_text("utf-8")
    wanted = json.loads((ASSETS.parent / "bundle" / "package.json").read_text("utf-8"))
    version = wanted["dependencies"]["plotly.js"]
    assert text.startswith(f"/*! plotly.js v{version},")
    assert f"plotly.js {version}" in (ASSETS / "plotly.licenses.txt").read_text("utf-8")
    assert not re.search(r"\beval\(|new Function\b", text)


def test_plotly_and_its_licences_are_what_the_build_wrote() -> None:
    sums = (ASSETS.parent / "bundle" / "SHA256SUMS").read_text("utf-8").split()
    assert len(sums) == 4
    for expected, name in zip(sums[::2], sums[1::2], strict=True):
        assert sha256((ASSETS / name).read_bytes()).hexdigest() == expected, name


def test_only_loopback_is_local() -> None:
    assert is_local("127.0.0.1") and is_local("::1") and is_local("localhost")
    assert not is_local("0.0.0.0") and not is_local("192.168.0.2") and not is_local("host.name")
