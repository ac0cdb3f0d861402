from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from nodewise.errors import InputError
from nodewise.explorer import app as module
from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.state import State
from tests.explorer.bodies import body_of
from tests.explorer.pages import SCRIPT, named_view, small

pytestmark = pytest.mark.medium
HERE = {"Origin": "http://localhost"}


def client(explored: ExplorerData, name: str = "run") -> Any:
    pytest.importorskip("dash", reason="dash is not installed")
    return module.make_app(explored, name).server.test_client()


def ask(
    page: Any, output: str, inputs: Mapping[str, Any], headers: Mapping[str, str] = HERE
) -> Any:
    """The answer of the callback that has an output, for the values of its inputs by id."""
    body = body_of(page.get("/_dash-dependencies").json, output, inputs)
    return page.post("/_dash-update-component", json=body, headers=headers)


def test_the_page_comes_from_this_server_alone() -> None:
    page = client(small())
    answer = page.get("/?node=3")
    text = answer.get_data(as_text=True)
    assert answer.status_code == 200 and '<html lang="en">' in text
    assert not re.search(r"(src|href)=.?https?:", text)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    inline = re.findall(r"<script[^>]*>[^<]+</script>", text)
    assert all("application/json" in each or "DashRenderer" in each for each in inline)


def test_names_are_text_in_the_page() -> None:
    page = client(ExplorerData(named_view()), SCRIPT)
    assert SCRIPT not in page.get("/").get_data(as_text=True)


def test_other_hosts_and_pages_are_refused() -> None:
    page, asked = client(small()), {"state": State(node="3").query()}
    assert page.get("/", headers={"Host": "evil.com"}).status_code == 403
    assert ask(page, "answer.children", asked).status_code == 200
    for origin in ({}, {"Origin": "http://evil.com"}, {"Origin": "null"}):
        assert ask(page, "answer.children", asked, origin).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/assets//etc/passwd",
        "/_dash-component-suites/dash/../../../nodewise/cli/app.py",
        "/_dash-component-suites/nodewise/explorer/app.py",
        "/_mcp",
        "/_reload-hash",
    ],
)
def test_no_path_leads_to_other_files(path: str) -> None:
    text = client(small()).get(path).get_data(as_text=True)
    assert "import annotations" not in text and "root:" not in text


def test_without_dash_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install dash"):
        module.need_dash()
