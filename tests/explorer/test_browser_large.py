"""The page in a browser with 200,000 nodes: it draws a sample, which moves with the mouse."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

from tests.explorer.browsing import Visit, chromium, timed
from tests.explorer.test_large import large

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
# Drags the map; gives milliseconds from one frame to the next.
PAN = """
const done = arguments[arguments.length - 1], times = [];
const graph = document.querySelector('#map .js-plotly-plot');
const drag = graph.querySelector('.nsewdrag');
Plotly.relayout(graph, {dragmode: 'pan'}).then(() => {
  const box = drag.getBoundingClientRect();
  let x = box.left + box.width / 2, y = box.top + box.height / 2, last = performance.now();
  const fire = (type, target) => target.dispatchEvent(
    new MouseEvent(type, {bubbles: true, clientX: x, clientY: y, buttons: 1, view: window}));
  for (const type of ['mousemove', 'mousedown']) fire(type, drag);
  const step = now => {
    times.push(now - last);
    last = now;
    [x, y] = [x + 2, y + 1];
    if (times.length < 20) { fire('mousemove', document); requestAnimationFrame(step); }
    else { fire('mouseup', document); done(times.slice(2)); }
  };
  requestAnimationFrame(step);
});
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    from nodewise.explorer.app import make_app
    from nodewise.explorer.server import address, make_server

    server = make_server(make_app(large(), "large"), "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server)
    server.shutdown()


def test_a_large_graph_in_a_browser(url: str) -> None:
    with chromium() as browser:
        visit = Visit(browser, url)
        visit.says("#sampled", "A random sample of 20,000 of 200,000 nodes is drawn.")
        visit.says(".rows caption", "200,000 nodes")
        visit.type("search", "199999")  # ranks and places are computed once
        visit.shows(199999)
        x, y, node = visit.alone()[0]
        visit.click(x, y)
        clicked = timed(lambda: visit.shows(int(node)))
        moving: Any = browser.execute_async_script(PAN)
        print(
            f"\nmap {visit.drawn:.2f} s, click {clicked:.2f} s, {median(moving):.0f} ms from frame "
            f"to frame while the map moves (the slowest {max(moving):.0f}), without a graphics card"
        )
        assert median(moving) < 400
        assert visit.errors() == []
