"""Write the two pictures of the explorer: a run of the toy graph in Debian's chromium.

Run it after a change of the page's look, `python docs/make_screenshots.py`; it takes some minutes.
Nothing compares the pictures, since browsers and fonts differ; look at them.
"""

from __future__ import annotations

import base64
import io
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from markers import ROOT
from PIL import Image

sys.path.insert(0, str(ROOT))
from tests.explorer.browsing import WAIT, Visit, chromium, nodewise, served

NODE, WIDTH, MARGIN, COLORS = "622", 1280, 10, 128


def main() -> None:
    """Train, open the page, and write the pictures."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "toy"
        subprocess.run(nodewise("train", "toy", "--out", run, "--quiet"), check=True)
        with served(run) as url, chromium() as browser:
            size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            visit = Visit(browser, f"{url}?node={NODE}&layout=tsne")
            visit.says("#progress", "of 4 stages")
            ended = "document.querySelector('#progress').textContent == ''"
            visit.wait(ended, seconds=5 * WAIT)
            visit.shows(NODE)
            visit.wait("new Promise(done => setTimeout(() => done(true), 1000))")
            box = "document.getElementById('node').getBoundingClientRect()"
            top = visit.run(f"return {box}.top") - MARGIN
            save(browser, "explorer-map", 0, top)
            end = visit.run("return document.querySelector('#node details').offsetTop")
            save(browser, "explorer-node", top, end)


def save(browser: Any, name: str, top: float, bottom: float) -> None:
    """Write a part of the page, in few colors."""
    clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")
    path = ROOT / "docs" / "images" / f"{name}.png"
    few = picture.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
