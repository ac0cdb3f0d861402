"""A person at the page, in Debian's chromium; there is nothing to import where that is missing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="dash is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip(
        "no chromium here: apt-get install chromium chromium-driver", allow_module_level=True
    )
WAIT = 120  # seconds, on a busy machine
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--window-size=1280,1000",
)


def nodewise(*words: object) -> list[str]:
    return [sys.executable, "-m", "nodewise", *map(str, words)]


def train(folder: Path, *graph: object, epochs: int = 5) -> Path:
    """A run of a few epochs."""
    quick = ("--recipe", "nodewise", "--set", f"epochs={epochs}", "--quiet", "--threads", 1)
    subprocess.run(nodewise("train", *graph, *quick, "--out", folder), check=True)
    return folder


@contextmanager
def served(run: Path) -> Iterator[str]:
    """The address of a page; Ctrl-C ends its server with a line, and nothing went wrong there."""
    words = nodewise("explore", run, "--port", 0, "--no-browser", "--json", "--threads", 1)
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        server.stdout.readline()
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=60)
    assert (server.returncode, said.strip()) == (0, "ended"), said


@contextmanager
def chromium() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))
    driver.set_page_load_timeout(WAIT)
    driver.set_script_timeout(WAIT)
    try:
        yield driver
    finally:
        driver.quit()


# Free nodes of the map that no other covers, in the window's coordinates, with their numbers.
ALONE = """
const graph = document.querySelector('#map .js-plotly-plot') ?? document.getElementById('map');
const l = graph._fullLayout, box = graph.getBoundingClientRect();
const all = graph._fullData.filter(t => t.visible === true && t.type === 'scattergl').flatMap(
  t => Array.from(t.x, (x, i) => [l.xaxis.c2p(x), l.yaxis.c2p(t.y[i]), t.customdata?.[i]]));
const alone = all.filter(([x, y, node]) => Number.isInteger(node) && x > 0 && y > 0
  && x < l.xaxis._length && y < l.yaxis._length
  && all.filter(([p, q]) => Math.hypot(p - x, q - y) < 9).length == 1);
return alone.slice(0, 8).map(([x, y, node]) => [box.left + l.xaxis._offset + x,
  box.top + l.yaxis._offset + y, node]);
"""
# The corners of the map, a little inside.
CORNERS = """
const box = document.querySelector('#map .nsewdrag').getBoundingClientRect();
const [left, top, right, bottom] = [box.left + 9, box.top + 9, box.right - 9, box.bottom - 9];
return [[left, top], [right, top], [right, bottom], [left, bottom], [left, top + 5]];
"""


MAP = "#map canvas.gl-canvas"


class Visit:
    """What a person does and sees.

    Args:
        browser: The browser.
        url: The page.
    """

    def __init__(self, browser: Any, url: str) -> None:
        self.browser = browser
        self.open(url)

    def open(self, url: str) -> None:
        """Go to an address, and wait for its map."""
        self.browser.get(url)
        canvas, row = (f"document.querySelector('{each}')" for each in (MAP, ".rows tbody tr"))
        self.drawn = self.wait(f"{canvas} && {row} && performance.now()") / 1000  # since it began

    def run(self, script: str, *values: object) -> Any:
        return self.browser.execute_script(script, *values)

    def wait(self, condition: str, *values: object, seconds: float = WAIT) -> Any:
        """What a condition in JavaScript becomes, once it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(f"return {condition}", *values)
            if found:
                return found
            time.sleep(0.01)
        raise AssertionError(f"never true: {condition}; the console says {self.errors()}")

    def says(self, selector: str, text: str) -> None:
        """Wait until an element has a text."""
        found = f"[...document.querySelectorAll({selector!r})].map(each => each.textContent).join()"
        self.wait(f"{found}.includes(arguments[0])", text)

    def shows(self, id: object) -> None:
        """Wait until a node's panel is there, its figures drawn."""
        self.says("#node h2", f"Node {id}")
        self.wait("document.querySelectorAll('#node .barlayer .point').length")

    def find(self, selector: str) -> Any:
        from selenium.webdriver.common.by import By

        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def type(self, id: str, text: str) -> None:
        """Type a text and Enter into a field, in place of its content."""
        from selenium.webdriver.common.keys import Keys

        self.find(f"#{id}").send_keys(Keys.CONTROL, "a")
        self.find(f"#{id}").send_keys(text, Keys.ENTER)

    def choose(self, id: str, value: str) -> None:
        """Choose from a list of Dash's, or of the browser's."""
        from selenium.webdriver.common.by import By

        self.find(f"#{id}").click()
        options = f"#{id} option, .dash-dropdown-option"
        self.wait("document.querySelector(arguments[0])", options)
        found = self.browser.find_elements(By.CSS_SELECTOR, options)
        next(option for option in found if value in option.text).click()

    def alone(self) -> list[list[float]]:
        """Places of nodes that can be clicked, and their numbers."""
        self.run("scrollTo(0, 0)")
        return list(self.run(ALONE))

    def click(self, x: float, y: float) -> None:
        """A click with the mouse."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        mouse = ActionBuilder(self.browser, duration=0)
        mouse.pointer_action.move_to_location(int(x) - 2, int(y)).move_to_location(int(x), int(y))
        mouse.perform()
        ActionChains(self.browser, duration=0).pause(0.2).click().perform()

    def lasso(self) -> None:
        """Draw a lasso around the whole map."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        self.run("scrollTo(0, 0)")
        mouse = ActionBuilder(self.browser, duration=50)
        (x, y), *others = self.run(CORNERS)
        mouse.pointer_action.move_to_location(int(x), int(y)).pointer_down()
        for x, y in others:
            mouse.pointer_action.move_to_location(int(x), int(y))
        mouse.pointer_action.pointer_up()
        mouse.perform()

    def save(self, button: str, folder: Path, name: str) -> bytes:
        """The file that a button saves."""
        self.browser.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        self.find(button).click()
        end = time.monotonic() + WAIT
        while not (folder / name).exists() and time.monotonic() < end:
            time.sleep(0.05)
        return (folder / name).read_bytes()

    def errors(self) -> list[str]:
        """Errors in the console since it was read last."""
        return [e["message"] for e in self.browser.get_log("browser") if e["level"] == "SEVERE"]


def timed(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
