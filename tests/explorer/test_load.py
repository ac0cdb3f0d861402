"""Twenty people at once for five minutes: the page answers, and its memory does not grow."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
import pytest

from tests.explorer.bodies import body_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
pytest.importorskip("dash", reason="dash is not installed")
USERS = 20
SECONDS = float(os.environ.get("NODEWISE_LOAD_SECONDS", "300"))
THINKING = 2.0  # seconds from an answer to the next click, on average


class User:
    """A browser without a screen: a click asks what a browser asks."""

    def __init__(self, url: str, seed: int) -> None:
        self.place = urlsplit(url).netloc
        self.connection = http.client.HTTPConnection(self.place, timeout=60)
        self.random, self.waits = Random(seed), list[float]()
        self.ask("GET", "/")
        self.known = json.loads(self.ask("GET", "/_dash-dependencies"))

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """The answer; how long it took is noted."""
        headers = {"Origin": f"http://{self.place}", "Content-Type": "application/json"}
        start = time.perf_counter()
        self.connection.request(method, path, body and json.dumps(body), headers)
        answer = self.connection.getresponse()
        content = answer.read()
        self.waits.append(time.perf_counter() - start)
        assert answer.status in (200, 204), content[:200]
        return content

    def click(self) -> None:
        """Choose a node, at times with a what-if or on another map."""
        node = self.random.randrange(1200)
        state = f"?node={node}"
        state += self.random.choice(["", "&off=edge", "&map=hidden", "&color=degree", "&off=node"])
        values = {"state": "", "which": "local", "color": "label", "show": "all"}
        self.call("url.search", values, ("picked", [node, 0]))
        shown = ("progress.children", "map.figure", "node.children", "answer.children")
        for output in (*shown, "map.figure@"):
            self.call(output, {"state": state, "show": "all"})

    def call(self, output: str, values: dict[str, Any], clicked: Any = None) -> None:
        body = body_of(self.known, output, values, clicked)
        self.ask("POST", "/_dash-update-component", body)

    def stay(self, end: float) -> list[float]:
        """Click until the end; returns how long each answer took."""
        while time.monotonic() < end:
            self.click()
            time.sleep(self.random.expovariate(1 / THINKING))
        return self.waits


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "nodewise"]
    quick = ("--recipe", "nodewise", "--set", "epochs=5", "--quiet", "--threads", "1")
    subprocess.run([*command, "train", "toy", *quick, "--out", tmp_path / "run"], check=True)
    words = ("explore", tmp_path / "run", "--port", "0", "--no-browser", "--json", "--quiet")
    process = subprocess.Popen([*command, *words, "--threads", "1"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    yield url, psutil.Process(process.pid)
    process.kill()
    process.communicate()


def test_twenty_people_are_answered_within_a_second(server: tuple[str, psutil.Process]) -> None:
    url, process = server
    users = [User(url, seed) for seed in range(USERS)]
    start, end = time.monotonic(), time.monotonic() + SECONDS
    with ThreadPoolExecutor(USERS) as pool:
        stays = [pool.submit(user.stay, end) for user in users]
        time.sleep(SECONDS / 3)  # by then all that is kept is there
        before = process.memory_info().rss
        waits = np.concatenate([stay.result() for stay in stays])
    after = process.memory_info().rss
    late = np.quantile(waits, 0.99)
    print(
        f"\n{len(waits):,} answers in {time.monotonic() - start:.0f} s: median "
        f"{np.median(waits):.3f} s, 99 % under {late:.3f} s, slowest {waits.max():.2f} s; memory "
        f"{before / 2**20:.0f} MB after a third of the time, {after / 2**20:.0f} MB at the end; "
        f"{1000 * sum(process.cpu_times()[:2]) / len(waits):.0f} ms of computing for an answer; "
        f"load {os.getloadavg()[0]:.1f}"
    )
    assert late < 1
    assert after < 1.05 * before
