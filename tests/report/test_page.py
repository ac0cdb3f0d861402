from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from nodewise.report.page import Page
from nodewise.report.plots import Level, accuracies, learning_curves
from nodewise.report.search_table import SCRIPT
from nodewise.report.style import to_svg


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.cells and self.tags[-1] == "td":
            self.cells[-1] += data


def test_what_users_wrote_is_never_read_as_html(tmp_path: Path) -> None:
    page = Page("<script>alert(1)</script>")
    page.table(("model", "x"), [["<b>bold</b>", "1 & 2"]])
    page.paragraph("a < b")
    page.figure("<svg></svg>", "it's 'quoted' <i>")
    page.write(tmp_path / "page.html")
    seen = Seen()
    seen.feed((tmp_path / "page.html").read_text("utf-8"))
    assert seen.cells == ["<b>bold</b>", "1 & 2"]
    assert not {"script", "b", "i"} & set(seen.tags)


def test_a_page_fetches_nothing() -> None:
    page = Page("plots")
    page.figure(to_svg(accuracies({"A": [0.5, 0.6], "B": [0.7]})), "accuracies")
    html = page.html()
    for word in ("<script", "src=", "@import", "<link"):
        assert word not in html


def test_long_tables_are_searched_by_our_script_alone_and_names_stay_text() -> None:
    page = Page("predictions")
    names = ["</td><script>alert(1)</script>", "<img src=x onerror='alert(1)'>", "a & b"]
    rows = [[name, "<b>class</b>", "97.1"] for name in names]
    page.search_table(("node", "prediction", "%"), rows, ("prediction",), ["<b>class</b>"])
    seen, html = Seen(), page.html()
    seen.feed(html)
    assert seen.cells[::3] == names and seen.cells[1] == "<b>class</b>"
    assert not {"b", "img"} & set(seen.tags) and seen.tags.count("script") == 1
    assert html.count(SCRIPT) == 1 and "http" not in SCRIPT and "src=" not in SCRIPT
    assert "innerHTML" not in SCRIPT and "<table class='left-2'>" in html


def test_plots_show_the_numbers_they_are_given() -> None:
    svg = to_svg(accuracies({"GCN": [0.5, 0.6], "LGCN": [0.875]}))
    assert ">55.0<" in svg and ">87.5<" in svg and ">LGCN<" in svg
    history = [{"epoch": e, "val_accuracy": e / 10} for e in range(4)]
    late = [{"epoch": 0}, {"epoch": 1, "val_accuracy": 0.3}]
    curves = learning_curves({"A": [history, history[:3]], "B": [late]})
    (axes,) = curves.axes
    assert axes.lines[0].get_xydata().tolist() == [[0, 0], [1, 10], [2, 20]]  # type: ignore[union-attr]
    assert axes.lines[1].get_xydata().tolist() == [[1, 30]]  # type: ignore[union-attr]


def test_accuracies_to_compare_with_are_horizontal_lines() -> None:
    history = [{"epoch": e, "val_accuracy": e / 10} for e in range(4)]
    levels = [Level("majority class", 0.4), Level("features only", 0.45)]
    (axes,) = learning_curves({"A": [history]}, levels).axes
    heights = [set(line.get_ydata()) for line in axes.lines[1:]]  # type: ignore[arg-type]
    assert heights == [{40.0}, {45.0}]
    assert {line.get_linestyle() for line in axes.lines} == {"-", "--", ":"}


def test_equal_records_give_equal_files() -> None:
    values = {"A": [0.5, 0.6]}
    assert to_svg(accuracies(values)) == to_svg(accuracies(values))
