"""Broken tables, as data: what is written, what is asked for, and what the one line must say.

The library's test reads them with `read_graph`; a test of the command line can do so with the same
cases, since the options are those of the command line too.
"""

# ruff: noqa: E501 (a table reads by its lines)
from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

Content = bytes | Callable[[Path], object] | None

NODES = b"id,topic,age,color\na,x,1,red\nb,x,2,blue\nc,y,3,red\nd,y,4,blue\n"
EDGES = b"source,target,w\na,b,1\nb,c,2\nc,d,3\n"
LABEL: dict[str, Any] = {"label": "topic"}


class BrokenTable(NamedTuple):
    """A case.

    Args:
        name: What is wrong.
        nodes: The bytes of the file of nodes, a function that makes it, or None for no file.
        edges: The same for edges.
        options: Of `read_graph`.
        says: What the message must say: the place, the value.
        way_out: What it must say to do.
        names: The names of the two files; an empty one is not given to `read_graph`.
    """

    name: str
    nodes: Content = NODES
    edges: Content = EDGES
    options: dict[str, Any] = LABEL
    says: tuple[str, ...] = ()
    way_out: str = ""
    names: tuple[str, str] = ("nodes.csv", "edges.csv")

    def write(self, folder: Path) -> dict[str, Any]:
        """Write the files, and return the arguments of `read_graph`."""
        named = zip(("nodes", "edges"), self.names, (self.nodes, self.edges), strict=True)
        arguments = dict(self.options)
        for what, name, content in named:
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            elif content is not None:
                content(folder / name)
            if name:
                arguments[what] = folder / name
        return arguments


def nodes(old: bytes, new: bytes) -> bytes:
    assert old in NODES
    return NODES.replace(old, new, 1)


def edges(old: bytes, new: bytes) -> bytes:
    assert old in EDGES
    return EDGES.replace(old, new, 1)


def ten_gigabytes_of_nothing(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(10 * 2**30)  # a sparse file: it takes no room


def header_and_ten_gigabytes_of_nothing(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(b"id,topic\na,")
        stream.truncate(10 * 2**30)


def many_texts(count: int) -> bytes:
    rows = "".join(f"n{i},{'xy'[i % 2]},title {i}\n" for i in range(count))
    return f"id,topic,title\n{rows}".encode()


def path_of(count: int) -> bytes:
    return b"source,target\n" + "".join(f"n{i},n{i + 1}\n" for i in range(count - 1)).encode()


def measured(count: int, digits: int = 6, split: bool = False) -> bytes:
    """Nodes whose topic is a number to predict; with a split, of one node without a label."""
    numbers = np.random.default_rng(0).normal(10, 3, count).round(digits).astype(str)
    if split:
        numbers[3] = ""
    parts = ["test" if i == 3 else "train" if i % 2 else "val" for i in range(count)]
    frame = pd.DataFrame({"id": [f"n{i}" for i in range(count)], "topic": numbers, "age": 1})
    return (frame.assign(split=parts) if split else frame).to_csv(index=False).encode()


def parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


NODES_FRAME = pd.read_csv(io.BytesIO(NODES))
EDGES_FRAME = pd.read_csv(io.BytesIO(EDGES))
DATED = parquet(NODES_FRAME.assign(born=pd.Timestamp("2020-01-01")))
X, PAIRS = np.eye(3, dtype=np.float32), np.array([[0, 1], [1, 2]])
TOO_MANY = 1001
ONE_FILE = ("graph.npz", "")
RELEASED = ("graph.node", "graph.edge")
# fmt: off
CASES = [
    BrokenTable("unknown id", edges=edges(b"c,d", b"c,z"), says=("edges.csv, line 4, column 'target'", "'z'"), way_out="add the node to"),
    BrokenTable("several unknown ids", edges=edges(b"b,c", b"q,r"), says=("edges.csv, line 3, column 'source'", "'q'", "one of 2 such ends"), way_out="delete the edge"),
    BrokenTable("no id known at all", edges=b"source,target\n1,2\n2,3\n", says=("edges.csv, line 2, column 'source'", "'1'"), way_out="name the id column"),
    BrokenTable("edge without an end", edges=edges(b"b,c", b"b,"), says=("edges.csv, line 3, column 'target'", "is empty"), way_out="delete the row"),
    BrokenTable("self-loops alone", edges=b"source,target\na,a\nb,b\n", says=("edges.csv", "self-loop"), way_out="different nodes"),
    BrokenTable("edges without a header", edges=b"a,b\nb,c\nc,d\n", says=("edges.csv", "'a, b'", "no header"), way_out="such as source,target"),
    BrokenTable("duplicate ids", nodes(b"c,y", b"a,y"), says=("nodes.csv, line 4, column 'id'", "'a'", "line 2"), way_out="a unique id"),
    BrokenTable("the same id as text and number", b"id,topic,age\n1,x,1\n1.0,x,2\n2,y,3\n3,y,3\n", b"source,target\n1,2\n", says=("nodes.csv, line 3, column 'id'", "'1'"), way_out="a unique id"),
    BrokenTable("node without an id", nodes(b"b,x", b" ,x"), says=("nodes.csv, line 3, column 'id'", "is empty"), way_out="give every node an id"),
    BrokenTable("id column missing", options={"id": "ident"}, says=("nodes.csv, column 'ident'", "no such column for the id"), way_out="the columns are id, topic, age, color"),
    BrokenTable("label column missing", options={"label": "tpoic"}, says=("nodes.csv, column 'tpoic'",), way_out="did you mean 'topic'?"),
    BrokenTable("source column missing", options={"source": "from"}, says=("edges.csv, column 'from'",), way_out="the columns are source, target, w"),
    BrokenTable("feature column missing", options={**LABEL, "features": ["agee"]}, says=("nodes.csv, column 'agee'",), way_out="did you mean 'age'?"),
    BrokenTable("text column missing", options={**LABEL, "text": ["abstract"]}, says=("nodes.csv, column 'abstract'",), way_out="the columns are"),
    BrokenTable("the label as a feature", options={**LABEL, "features": ["topic"]}, says=("nodes.csv, column 'topic'",), way_out="leave it out"),
    BrokenTable("one column for two things", options={"source": "target", "target": "target"}, says=("edges.csv, column 'target'", "source"), way_out="a column for each"),
    BrokenTable("one class only", NODES.replace(b",y", b",x"), says=("nodes.csv, column 'topic'", "one class only", "'x'"), way_out="two classes"),
    BrokenTable("no labels at all", NODES.replace(b",x", b",").replace(b",y", b","), says=("nodes.csv, column 'topic'", "no label"), way_out="the right column"),
    BrokenTable("a class of one node", nodes(b"d,y", b"d,z") + b"e,y,1,red\n", says=("nodes.csv, line 5, column 'topic'", "'z'"), way_out="give another node this label"),
    BrokenTable("a label that is none", options={"label": "age"}, says=("nodes.csv, line 2, column 'age'", "4 of 4 classes have one node", "'1'"), way_out="the right column"),
    BrokenTable("tables swapped", EDGES, NODES, says=("nodes.csv", "looks like the table of edges", "edges.csv like that of nodes"), way_out="exchange them: --nodes "),
    BrokenTable("tables swapped, roles asked for", EDGES, NODES, options={"label": "topic", "id": "id", "source": "source", "target": "target"}, says=("nodes.csv", "looks like the table of edges"), way_out="exchange them"),
    BrokenTable("tables swapped, no label asked for", EDGES, NODES, options={}, says=("nodes.csv", "looks like the table of edges"), way_out="exchange them"),
    BrokenTable("tables swapped, in Parquet", parquet(EDGES_FRAME), parquet(NODES_FRAME), says=("nodes.parquet", "looks like the table of edges"), way_out="exchange them", names=("nodes.parquet", "edges.parquet")),
    BrokenTable("the header of nodes again", NODES + NODES.replace(b"a,x", b"e,x"), says=("nodes.csv, line 6", "the header again", "'id,topic,age,color'"), way_out="delete the line"),
    BrokenTable("the header of edges again, twice", edges=EDGES * 3, says=("edges.csv, line 5", "the header again", "one of 2 such lines"), way_out="delete the line"),
    BrokenTable("the header again, with numbers and an index", b",id,topic,7\n0,a,x,1\n1,b,x,2\n,id,topic,7\n0,c,y,3\n1,d,y,7\n", says=("nodes.csv, line 4", "the header again"), way_out="tail -n +2"),
    BrokenTable("the header again, in names alone", NODES.replace(b"age,color", b"a,b") + b"id,topic,a,b\n", options={**LABEL, "text": ["a", "b"]}, says=("nodes.csv, line 6", "the header again"), way_out="delete the line"),
    BrokenTable("numbers to predict", measured(40), path_of(40), says=("nodes.csv, line 2, column 'topic'", "40 different numbers on 40 nodes", "regression"), way_out="docs/limits.md"),
    BrokenTable("numbers to predict, with a split", measured(40, split=True), path_of(40), says=("nodes.csv", "39 different numbers on 39 nodes"), way_out="into bins"),
    BrokenTable("rounded numbers to predict", measured(400, digits=1), path_of(400), says=("nodes.csv", "different numbers on 400 nodes"), way_out="into bins"),
    BrokenTable("mixed types", nodes(b"3,red", b"three,red"), says=("nodes.csv, line 4, column 'age'", "'three'", "not a number"), way_out="correct the cell"),
    BrokenTable("a question mark for a number", nodes(b"2,blue", b"?,blue"), says=("nodes.csv, line 3, column 'age'", "'?'"), way_out="leave the column out"),
    BrokenTable("not a number, and asked for", many_texts(TOO_MANY), path_of(TOO_MANY), {**LABEL, "features": ["title"]}, ("nodes.csv, line 2, column 'title'", "'title 0'", "1001 distinct"), "name it in text"),
    BrokenTable("dates as a feature", DATED, options={**LABEL, "features": ["born"]}, says=("nodes.parquet, column 'born'", "neither a number nor a name"), way_out="convert it to numbers", names=("nodes.parquet", "edges.csv")),
    BrokenTable("an empty column as a feature", b"id,topic,age\na,x,\nb,x,\nc,y,\nd,y,\n", options={**LABEL, "features": "age"}, says=("nodes.csv, column 'age'", "is empty"), way_out="leave it out"),
    BrokenTable("nothing to be a feature", many_texts(60), path_of(60), says=("nodes.csv", "'title' has 60 distinct texts"), way_out="name one in text"),
    BrokenTable("a text without words", b"id,topic,note\na,x,!\nb,x,?\nc,y,-\nd,y,!\n", options={**LABEL, "text": "note"}, says=("nodes.csv, column 'note'", "no words"), way_out="leave it out"),
    BrokenTable("missing number", nodes(b"2,blue", b",blue"), says=("nodes.csv, line 3, column 'age'", "is empty"), way_out="mean, median or zero"),
    BrokenTable("NaN", nodes(b"2,blue", b"NaN,blue"), says=("nodes.csv, line 3, column 'age'", "counts as empty (found 'NaN')"), way_out="mean, median or zero"),
    BrokenTable("infinity", nodes(b"2,blue", b"inf,blue"), says=("nodes.csv, line 3, column 'age'", "infinite", "inf"), way_out="leave the cell empty"),
    BrokenTable("number too large", nodes(b"2,blue", b"1e200,blue"), says=("nodes.csv, line 3, column 'age'", "1e+200"), way_out="correct the cell"),
    BrokenTable("missing category", nodes(b"2,blue", b"2,"), says=("nodes.csv, line 3, column 'color'", "is empty"), way_out="choose missing"),
    BrokenTable("wrong delimiter", NODES.replace(b",", b"|"), says=("nodes.csv, line 1", "one column only", "'id|topic|age|color'"), way_out="put one of them between"),
    BrokenTable("wrong delimiter of edges", edges=EDGES.replace(b",", b":"), says=("edges.csv, line 1", "one column only", "'source:target:w'"), way_out="put one of them between"),
    BrokenTable("repeated column names", nodes(b"color", b"age"), says=("nodes.csv, line 1, column 'age'", "2 columns"), way_out="a unique name"),
    BrokenTable("row too short", nodes(b"b,x,2,blue", b"b,x,2"), says=("nodes.csv, line 3", "3 cells where 4 columns are", "'b,x,2'"), way_out="correct the line"),
    BrokenTable("row too long", edges=edges(b"b,c,2", b"b,c,2,9"), says=("edges.csv, line 3", "4 cells where 3 columns are"), way_out="quote a cell"),
    BrokenTable("quote that does not end", nodes(b"2,blue", b'2,"blue'), says=("nodes.csv, line 3", "cannot be split into cells"), way_out="correct the line"),
    BrokenTable("quote in the header that does not end", nodes(b"color", b'"color'), options={}, says=("nodes.csv, line 1", "cannot be split into cells"), way_out="correct the line"),
    BrokenTable("line breaks in a column's name", nodes(b"color", b'"co\nlour"'), options={"label": "x"}, says=("nodes.csv, column 'x'", "co lour"), way_out="the columns are id, topic, age, co lour"),
    BrokenTable("line after quoted line breaks", nodes(b"1,red", b'1,"r\ne\nd"').replace(b"3,red", b"x,red"), says=("nodes.csv, line 6, column 'age'", "'x'"), way_out="correct the cell"),
    BrokenTable("line after blank lines", nodes(b"c,y,3", b"\n\nc,y,x"), says=("nodes.csv, line 6, column 'age'", "'x'"), way_out="correct the cell"),
    BrokenTable("empty file", b"", says=("nodes.csv", "is empty"), way_out="a header and rows"),
    BrokenTable("blank file", edges=b"\n \n\n", says=("edges.csv", "is empty"), way_out="a header and rows"),
    BrokenTable("header only", b"id,topic,age\n", says=("nodes.csv", "no rows"), way_out="a row for each"),
    BrokenTable("edges with a header only", edges=b"source,target\n", says=("edges.csv", "no rows"), way_out="a row for each"),
    BrokenTable("missing file", None, lambda path: path.with_name("nodes.tsv").write_bytes(NODES), says=("nodes.csv", "no such file"), way_out="nodes.tsv"),
    BrokenTable("missing folder", options=LABEL, nodes=None, says=("none", "no such file"), way_out="check its name", names=("none/nodes.csv", "edges.csv")),
    BrokenTable("folder", Path.mkdir, says=("nodes.csv", "is a folder"), way_out="name a file in it"),
    BrokenTable("not UTF-8", nodes(b"d,y,4,blue", b"d,y,4,bl\xfc"), says=("nodes.csv, line 5", "not UTF-8", r"b'\xfc'"), way_out="iconv"),
    BrokenTable("header not UTF-8", nodes(b"color", b"\xfcber"), says=("nodes.csv, line 1", "not UTF-8"), way_out="iconv"),
    BrokenTable("an id not UTF-8, late", edges=EDGES + b"a,b,1\n" * 20_000 + b"a,\xe9,1\n", says=("edges.csv, line 20005", "not UTF-8"), way_out="iconv"),
    BrokenTable("a feature not UTF-8, late", NODES + b"".join(b"n%d,x,1,red\n" % i for i in range(9_000)) + b"z,x,1,r\xe9d\n", says=("nodes.csv, line 9006", "not UTF-8"), way_out="iconv"),
    BrokenTable("UTF-16", NODES.decode().encode("utf-16"), says=("nodes.csv", "UTF-16"), way_out="save it as UTF-8"),
    BrokenTable("binary garbage", bytes(range(256)) * 9, says=("nodes.csv", "byte 0 is NUL"), way_out="export it as CSV"),
    BrokenTable("ten gigabytes of nothing", ten_gigabytes_of_nothing, says=("nodes.csv", "not a text table"), way_out="export it as CSV"),
    BrokenTable("ten gigabytes after a header", edges=header_and_ten_gigabytes_of_nothing, says=("edges.csv", "not a text table"), way_out="export it as CSV"),
    BrokenTable("a spreadsheet", b"PK\x03\x04" + bytes(99), says=("nodes.csv", "ZIP archive"), way_out="export it as CSV"),
    BrokenTable("a database", b"SQLite format 3\0" + bytes(99), says=("nodes.csv", "SQLite"), way_out="export it as CSV"),
    BrokenTable("truncated gzip", gzip.compress(NODES)[:-12], says=("nodes.csv.gz", "truncated gzip"), way_out="copy it again", names=("nodes.csv.gz", "edges.csv")),
    BrokenTable("truncated long gzip", edges=gzip.compress(EDGES + bytes(np.random.default_rng(0).integers(97, 122, 400_000, np.uint8)))[:-9], says=("edges.csv.gz", "gzip"), way_out="again", names=("nodes.csv", "edges.csv.gz")),
    BrokenTable("damaged gzip", b"\x1f\x8b" + b"garbage" * 9, says=("nodes.csv.gz", "gzip"), way_out="again", names=("nodes.csv.gz", "edges.csv")),
    BrokenTable("broken Parquet", parquet(NODES_FRAME)[:-20], says=("nodes.parquet", "damaged, or not a Parquet file"), way_out="write or copy it again", names=("nodes.parquet", "edges.csv")),
    BrokenTable("four bytes of Parquet", b"PAR1", says=("nodes.parquet", "damaged, or not a Parquet file"), way_out="write or copy it again", names=("nodes.parquet", "edges.csv")),
    BrokenTable("missing number in Parquet", parquet(NODES_FRAME.assign(age=[1, None, 2, 3])), says=("nodes.parquet, row 2, column 'age'", "is empty"), way_out="mean, median or zero", names=("nodes.parquet", "edges.csv")),
    BrokenTable("negative weight", edges=edges(b"b,c,2", b"b,c,-2"), options={**LABEL, "weight": "w"}, says=("edges.csv, line 3, column 'w'", "-2.0"), way_out="0 or more"),
    BrokenTable("weight that is not a number", edges=edges(b"b,c,2", b"b,c,strong"), options={**LABEL, "weight": "w"}, says=("edges.csv, line 3, column 'w'", "'strong'"), way_out="0 or more"),
    BrokenTable("missing weight", edges=edges(b"b,c,2", b"b,c,"), options={**LABEL, "weight": "w"}, says=("edges.csv, line 3, column 'w'", "must be there"), way_out="0 or more"),
    BrokenTable("weight column missing", options={**LABEL, "weight": "weight"}, says=("edges.csv, column 'weight'",), way_out="the columns are source, target, w"),
    BrokenTable("unknown part of a split", b"id,topic,age,split\na,x,1,train\nb,x,2,holdout\nc,y,3,\nd,y,4,test\n", says=("nodes.csv, line 3, column 'split'", "'holdout'"), way_out="write train, val or test"),
    BrokenTable("training node without a label", b"id,topic,age,part\na,x,1,train\nb,,2,train\nc,y,3,\nd,y,4,test\n", options={**LABEL, "split": "part"}, says=("nodes.csv, line 3, column 'part'", "'train'"), way_out="give it a label"),
    BrokenTable("split without training nodes", b"id,topic,age,split\na,x,1,val\nb,x,2,\nc,y,3,\nd,y,4,test\n", says=("nodes.csv, column 'split'",), way_out="write train beside"),
    BrokenTable("truncated npz", npz(x=X, edges=PAIRS)[:-30], None, {}, ("graph.npz", "damaged, or not an npz file"), "copy it again", ONE_FILE),
    BrokenTable("npz without features", npz(edges=PAIRS), None, {}, ("graph.npz", "no usable features", "'edges'"), "one of these names", ONE_FILE),
    BrokenTable("npz without edges", npz(x=X), None, {}, ("graph.npz", "no usable edges"), "one of these names", ONE_FILE),
    BrokenTable("npz with an edge to nowhere", npz(x=X, edges=PAIRS + 1), None, {}, ("graph.npz, edges[1, 1]", "below 3", "3"), "number the nodes from 0", ONE_FILE),
    BrokenTable("npz with NaN", npz(x=X * np.float32("nan"), edges=PAIRS), None, {}, ("graph.npz", "must be finite", "nan"), "correct the arrays", ONE_FILE),
    BrokenTable("npz with too few labels", npz(x=X, edges=PAIRS, y=np.arange(2)), None, {}, ("graph.npz", "another count of nodes than 3", "2"), "one label for each node", ONE_FILE),
    BrokenTable("npz with one class", npz(x=X, edges=PAIRS, y=np.zeros(3, int)), None, {}, ("graph.npz", "one class only", "0"), "two classes", ONE_FILE),
    BrokenTable("graph.node without counts", b"0\t1\t0.5\n1\t0\t0.5\n", b"0\t1\n", {}, ("graph.node, line 1", "counts"), "write them", RELEASED),
    BrokenTable("graph.node with too few features", b"2\t2\n0\t1\t0.5\n1\t0\t0.5\n", b"0\t1\n", {}, ("graph.node, line 2", "3 cells where 4 columns are"), "correct the line", RELEASED),
]
# fmt: on
