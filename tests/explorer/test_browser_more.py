"""The page in a browser: small screens, keyboard, screen readers, hostile names, one file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest

from nodewise.data.toy import toy_graph
from tests.explorer.browsing import WAIT, Visit, chromium, nodewise, served, train
from tests.explorer.walk import filter_and_save, go_back, lasso, walk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NAMED = {"button", "textbox", "combobox", "checkbox", "searchbox", "listbox", "progressbar"}
# What runs where a name is taken for markup.
HOSTILE = '<img src="x" onerror="window.hacked=1"><script>window.hacked=1</script><b>'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("explore") / "run", "toy", epochs=40)


@pytest.fixture(scope="module")
def url(run: Path) -> Iterator[str]:
    with served(run) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


def test_an_address_shows_what_it_showed(browser: Any, url: str) -> None:
    address = f"{url}?map=hidden&color=degree&node=171&other=67&off=node"
    visit = Visit(browser, address)
    visit.wait("document.querySelectorAll('#node > section').length == 2")
    visit.wait("document.querySelector('#off input').checked")
    visit.says("#answer", "171")
    assert browser.current_url == address
    assert visit.errors() == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser: Any, url: str, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    colors = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", colors)
    visit = Visit(browser, f"{url}?node=171")
    visit.wait("document.querySelector('#after .barlayer')")
    sizes = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    wide, room = visit.run(sizes)
    assert wide <= room <= width
    paper = visit.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(23, 25, 28)")
    for command in ("Emulation.clearDeviceMetricsOverride", "Emulation.setEmulatedMedia"):
        browser.execute_cdp_cmd(command, {})


def test_the_keyboard_reaches_all_and_chooses_a_node(browser: Any, url: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    visit = Visit(browser, f"{url}?show=corrected&node=171")
    visit.says(".rows caption", "localization corrected")
    visit.shows(171)
    first = visit.find(".rows td button").text
    here = """const e = document.activeElement;
        return e.matches('td button') ? e.textContent : e.id || e.dataset.title || ''"""
    reached: list[str] = []
    while first not in reached and len(reached) < 60:
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(visit.run(here))
        outline = visit.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", reached[-1]
    assert {"which", "laid", "color", "show", "search", "other", "png"} <= {*reached}
    assert "Lasso Select" in reached and "Share chart..." not in reached
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    visit.shows(first)
    visit.find("#node summary").send_keys(Keys.ENTER)
    button = visit.find("#node details td button")
    neighbor = button.text
    button.send_keys(Keys.ENTER)
    visit.shows(neighbor)
    assert visit.errors() == []


def test_every_control_has_a_name_for_screen_readers(browser: Any, url: str) -> None:
    visit = Visit(browser, f"{url}?node=171&layout=tsne")
    visit.wait("document.querySelector('#after .barlayer')")
    browser.execute_cdp_cmd("Accessibility.enable", {})
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in tree
        if not node.get("ignored") and "role" in node
    ]
    assert [role for role, name in found if role in NAMED and not name] == []
    names = {name for _, name in found}
    assert {"Map of the nodes", "Table of nodes", "What if", "Node 171"} <= names
    assert {"main", "search", "heading", "status", "table"} <= {role for role, _ in found}


def test_maps_are_laid_out_by_t_sne_while_the_page_answers(browser: Any, url: str) -> None:
    visit = Visit(browser, f"{url}?map=hidden&layout=tsne")
    visit.says("#progress", "of 4 stages")
    visit.type("search", "171")
    visit.shows(171)
    # Other work of the machine comes first.
    visit.wait("document.querySelector('#progress').textContent == ''", seconds=5 * WAIT)
    before = visit.run("return document.querySelector('#map .js-plotly-plot').data[0].x[0]")
    visit.choose("laid", "principal axes")
    moved = "document.querySelector('#map .js-plotly-plot').data[0].x[0] != arguments[0]"
    visit.wait(moved, before)
    assert visit.errors() == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on tables whose ids, classes and columns are markup."""
    folder, data = tmp_path_factory.mktemp("hostile"), toy_graph(90)
    columns = [f"{HOSTILE}{name}" for name in data.feature_names]
    nodes = pd.DataFrame(data.x.int().numpy(), columns=columns)
    nodes.insert(0, "id", [f"{HOSTILE}{i}" for i in range(90)])
    nodes["topic"] = [f"{HOSTILE}{data.class_names[label]}" for label in data.y]
    ends = [[f"{HOSTILE}{i}" for i in row] for row in data.edge_index.tolist()]
    nodes.to_csv(folder / "nodes.csv", index=False)
    pd.DataFrame(zip(*ends, strict=True), columns=["source", "target"]).to_csv(
        folder / "edges.csv", index=False
    )
    tables = ("--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv")
    return train(folder / "<b>run", *tables, "--label", "topic")


def test_hostile_names_are_text_on_the_page(browser: Any, hostile: Path) -> None:
    with served(hostile) as url:
        visit = Visit(browser, url)
        _read_hostile(visit)
        visit.says("h1", "<b>run")


def test_hostile_names_are_text_in_the_file(browser: Any, hostile: Path, tmp_path: Path) -> None:
    path = write(hostile, tmp_path)
    visit = Visit(browser, path.as_uri())
    _read_hostile(visit)
    visit.says("h1", "<b>run")


def _read_hostile(visit: Visit) -> None:
    for x, y, node in visit.alone()[:3]:
        visit.click(x, y)
        visit.shows(f"{HOSTILE}{int(node)}")
    visit.find("#node summary").click()
    visit.says("#node details td", HOSTILE)
    visit.type("search", f"{HOSTILE}nobody")
    visit.says("#message", HOSTILE)
    assert visit.run("return window.hacked ?? null") is None
    assert visit.run("return document.querySelectorAll('img, svg b, td b').length") == 0
    assert visit.errors() == []


def write(run: Path, folder: Path, *options: str) -> Path:
    path = folder / "page.html"
    words = nodewise("explore", run, "--static", path, "--threads", 1, "--quiet", *options)
    subprocess.run(words, check=True)
    return path


def test_the_page_as_one_file(browser: Any, run: Path, tmp_path: Path) -> None:
    path = write(run, tmp_path)
    visit = Visit(browser, path.as_uri())
    visit.says(".rows caption", "1,200 nodes")
    x, y, node = visit.alone()[0]
    visit.click(x, y)
    visit.says("#node h2", f"Node {int(node)}")
    lasso(visit)
    visit.open(f"{path.as_uri()}#show=corrected&layout=tsne")
    visit.says(".rows caption", "corrected")
    visit.find(".rows td button").click()
    visit.wait("document.querySelectorAll('#node .main-svg').length > 3")
    visit.type("other", "171")
    visit.wait("document.querySelectorAll('#node > section').length == 2")
    go_back(visit)
    filter_and_save(visit, tmp_path)
    assert visit.errors() == []


def test_a_visit_to_cora(data_root: Path, tmp_path: Path, browser: Any) -> None:
    with served(train(tmp_path / "run", "cora", epochs=30)) as url:
        times = walk(Visit(browser, url), tmp_path, 2708, "12")
    print(f"\nCora: {times}; load {os.getloadavg()[0]:.1f}")
    assert median(times.clicks) < 1 and median(times.what_ifs) < 1  # also on a busy machine
