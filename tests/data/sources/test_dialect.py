"""How a text table is written is found out from its first lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.data.sources.dialect import Dialect, find_dialect

PATH = Path("t.csv")


@pytest.mark.parametrize(
    ("text", "delimiter", "columns"),
    [
        ("a,b,c\n1,2,3\n", ",", ("a", "b", "c")),
        ("a\tb, or c\n1\t2\n", "\t", ("a", "b, or c")),
        ("a;b;c,d\n1;2;3\n", ";", ("a", "b", "c,d")),
        ('"a,b,c,d";e;f\n1;2;3\n', ";", ("a,b,c,d", "e", "f")),
        (" a , b \n1,2\n", ",", ("a", "b")),
        (",a,\n0,1,\n", ",", ("(unnamed 1)", "a", "(unnamed 3)")),
        ("über,straße\n1,2\n", ",", ("über", "straße")),
    ],
)
def test_the_delimiter_splits_the_header_into_most_columns(
    text: str, delimiter: str, columns: tuple[str, ...]
) -> None:
    assert find_dialect(PATH, text.encode()) == Dialect(delimiter, columns)


def test_blank_lines_before_the_header_and_lines_in_it_are_counted() -> None:
    dialect = find_dialect(PATH, b'\n\n"a\nb",c\n1,2\n')
    assert dialect.columns == ("a\nb", "c") and dialect.first_row == 4


def test_a_sample_may_end_within_a_character() -> None:
    head = "a,b\n1,ü".encode()
    assert find_dialect(PATH, head[:-1]).columns == ("a", "b")


@pytest.mark.parametrize(
    ("text", "decimal"),
    [("a;b\nx;1,5\n", ","), ("a;b\nx;1.5\n", "."), ("a;b\nx;red, 5\n", "."), ("a,b\nx,1\n", ".")],
)
def test_a_decimal_comma_is_found_between_semicolons(text: str, decimal: str) -> None:
    assert find_dialect(PATH, text.encode()).decimal == decimal


def test_a_first_line_of_numbers_is_an_edge_only_where_a_header_may_be_absent() -> None:
    text = b"1,2,0.5\n3,4,0.5\n"
    assert find_dialect(PATH, text).columns == ("1", "2", "0.5")
    bare = find_dialect(PATH, text, header=False)
    assert bare == Dialect(",", ("source", "target", "column_3"), first_row=0)


def test_a_comment_that_names_columns_is_a_header() -> None:
    assert find_dialect(PATH, b"#a,b\nx,y\n", header=False) == Dialect(",", ("#a", "b"))
