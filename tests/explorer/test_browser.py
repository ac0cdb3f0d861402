"""The page in a browser: a visit to the toy graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explorer.browsing import Visit, chromium, served, train
from tests.explorer.walk import walk

pytestmark = pytest.mark.medium


def test_a_browser_can_use_every_control(tmp_path: Path) -> None:
    with served(train(tmp_path / "run", "toy")) as url, chromium() as browser:
        print(walk(Visit(browser, url), tmp_path, 1200, "171"))
