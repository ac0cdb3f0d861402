from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nodewise.data.published import files as files_module
from nodewise.data.published.files import RawFile, cache_folder, data_root
from nodewise.errors import RawFileError
from nodewise.io import replacing
from tests.data.raw_files import mini_dataset, planetoid_files, sha256, write_files

CONTENT = bytes(range(256)) * 4096  # several chunks
FILES = planetoid_files()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        body = {"altered": b"!" + CONTENT[1:], "cut": CONTENT[:-5000], "whole": CONTENT, **FILES}
        if name not in body:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT if name == "cut" else body[name])))
        self.end_headers()
        self.wfile.write(body[name])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def raw_file(home: str, name: str) -> RawFile:
    return RawFile(f"folder/{name}", home + name, sha256(CONTENT))


def everything_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_download_arrives_whole_and_alone(home: str, tmp_path: Path) -> None:
    assert raw_file(home, "whole").read(tmp_path) == CONTENT
    assert everything_under(tmp_path) == [tmp_path / "folder" / "whole"]


def test_a_file_that_is_there_is_not_downloaded(tmp_path: Path) -> None:
    write_files({"whole": CONTENT}, tmp_path / "folder")
    assert raw_file("http://127.0.0.1:9/", "whole").read(tmp_path) == CONTENT


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cut", "ended after 1043576 of 1048576 bytes"),
        ("altered", "not the published file"),
        ("elsewhere", "404"),
    ],
)
def test_a_bad_download_leaves_nothing(home: str, tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(RawFileError, match=reason):
        raw_file(home, name).read(tmp_path)
    assert everything_under(tmp_path) == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_download_leaves_nothing(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    seen: list[Path] = []

    def interrupt(*_: Any, **__: Any) -> None:
        seen.extend(everything_under(tmp_path))
        raise interruption

    monkeypatch.setattr(files_module.Progress, "update", interrupt)
    with pytest.raises(interruption):
        raw_file(home, "whole").read(tmp_path)
    assert [path.suffix for path in seen] == [".part"]  # it was under way
    assert everything_under(tmp_path) == []


def test_offline_the_error_names_file_address_and_folder(tmp_path: Path) -> None:
    with pytest.raises(RawFileError) as caught:
        raw_file("http://127.0.0.1:9/", "whole").read(tmp_path)
    for part in ("whole", "http://127.0.0.1:9/whole", str(tmp_path / "folder"), "NODEWISE_DATA"):
        assert part in str(caught.value)
    assert everything_under(tmp_path) == []


def test_a_folder_that_cannot_be_written(home: str, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file where the folder should be")
    with pytest.raises(RawFileError, match="could not be downloaded"):
        raw_file(home, "whole").read(tmp_path)


def test_an_altered_file_on_disk_is_refused_and_kept(tmp_path: Path) -> None:
    write_files({"whole": CONTENT[:-1]}, tmp_path / "folder")
    with pytest.raises(RawFileError, match="truncated or altered"):
        raw_file("http://127.0.0.1:9/", "whole").read(tmp_path)
    assert (tmp_path / "folder" / "whole").read_bytes() == CONTENT[:-1]


def test_tls_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    contexts: list[ssl.SSLContext] = []

    def urlopen(*_: Any, context: ssl.SSLContext, **__: Any) -> None:
        contexts.append(context)
        raise OSError("seen enough")

    monkeypatch.setattr(files_module, "urlopen", urlopen)
    with pytest.raises(RawFileError, match="seen enough"):
        raw_file("https://127.0.0.1/", "whole").read(tmp_path)
    assert contexts[0].verify_mode == ssl.CERT_REQUIRED and contexts[0].check_hostname


def test_a_whole_data_set_is_downloaded(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path / "cache"))
    mini_dataset(FILES, home).graph(tmp_path / "root")
    found = {path.relative_to(tmp_path / "root") for path in everything_under(tmp_path / "root")}
    assert found == {Path("mini") / name for name in FILES}


def test_data_root_asks_argument_then_environment_then_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODEWISE_DATA", str(tmp_path / "environment"))
    assert data_root(tmp_path / "argument") == tmp_path / "argument"
    assert data_root() == tmp_path / "environment"
    monkeypatch.delenv("NODEWISE_DATA")
    assert data_root() == cache_folder() / "data"
    monkeypatch.delenv("NODEWISE_CACHE")
    assert cache_folder().name == "nodewise"


def test_replacing_keeps_the_old_file_when_the_new_one_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), replacing(path) as stream:
        stream.write(b"new")
        raise RuntimeError
    assert everything_under(tmp_path) == [path] and path.read_bytes() == b"old"
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX")
def test_files_are_readable_by_whom_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with replacing(tmp_path / "file") as stream:
            stream.write(b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
