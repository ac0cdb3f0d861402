"""Equations of the built site need neither a script nor a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mathml import block, inline

from tests.docs.pages import ROOT

# What a browser loads by itself, as against links that are followed by a reader.
_LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"(?:https?:)?//[^>]*>")
_BUILD = (sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages with equations, built as the site is."""
    source, out = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("html")
    shutil.copy(ROOT / "docs" / "conf.py", source)
    shutil.copy(ROOT / "docs" / "how-it-works.md", source / "index.md")
    for folder in ("_ext", "_static", "images"):
        shutil.copytree(ROOT / "docs" / folder, source / folder)
    # Links to other pages lead nowhere here.
    subprocess.run([*_BUILD, "-D", "suppress_warnings=myst", str(source), str(out)], check=True)
    return out


def test_a_built_page_has_mathml_and_no_tex(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert page.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">') >= 10
    assert not re.search(r"\\[(\[a-z]|\$\$", re.sub(r"<(pre|code).*?</\1>", "", page, flags=re.S))


def test_a_built_page_loads_nothing_from_elsewhere(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert _LOADED.findall(page) == []
    sheets = [sheet.read_text("utf-8") for sheet in site.rglob("*.css")]
    assert sheets and not any(re.search(r"(url\(|@import)\s*['\"]?https?:", s) for s in sheets)


def test_what_a_browser_loads_is_recognized() -> None:
    script = '<script defer="defer" src="https://cdn.example/mathjax.js"></script>'
    assert _LOADED.search(script) and not _LOADED.search('<a href="https://example">x</a>')


def test_an_equation_keeps_its_number() -> None:
    assert '<span class="eqno">(2, 3)</span><math' in block(r"a = b \tag{2, 3}")


def test_norms_keep_their_height_and_colons_have_space() -> None:
    assert 'stretchy="false">&#x02016;' in inline(r"\lVert B \rVert")
    assert "<mi>:</mi>" not in inline(r"\{ h_u : u \}")
