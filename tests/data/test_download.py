"""Downloads against a small server that cuts, refuses and changes its mind."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from noisyrnn.data import DataError
from noisyrnn.data.download import Unreachable, download

CONTENT = bytes(range(256)) * 2000


class Server:
    """Serves CONTENT; answers break off after ``cuts`` bytes, and ``states`` are given first."""

    def __init__(self) -> None:
        self.cuts: list[int] = []
        self.states: list[int] = []
        self.ranges = True
        self.announced = True
        self.asked: list[str | None] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self)

            def log_message(self, format: str, *args: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/file.bin"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.asked.append(wanted)
        if self.states:
            request.send_error(self.states.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if start >= len(CONTENT):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        if self.announced:
            request.send_header("Content-Length", str(len(CONTENT) - start))
        request.end_headers()
        body = CONTENT[start:]
        request.wfile.write(body[: self.cuts.pop(0)] if self.cuts else body)


@pytest.fixture
def server() -> Iterator[Server]:
    serving = Server()
    thread = threading.Thread(target=serving.http.serve_forever, daemon=True)
    thread.start()
    yield serving
    serving.http.shutdown()
    serving.http.server_close()
    thread.join()


def fetched(server, target, **options) -> list[tuple[int, int | None]]:
    steps = []
    download(server.url, target, advance=lambda have, total: steps.append((have, total)), pause=0.0, **options)
    return steps


def test_a_file_arrives_whole_and_progress_is_told(server, tmp_path):
    steps = fetched(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_cut_connection_is_continued_where_it_broke(server, tmp_path):
    server.cuts = [100_000, 50_000]
    fetched(server, tmp_path / "file")
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_later_call_continues_what_an_earlier_one_left(server, tmp_path):
    server.cuts = [70_000]
    with pytest.raises(Unreachable, match="70000 of 512000 bytes"):
        fetched(server, tmp_path / "file", attempts=1)
    assert not (tmp_path / "file").exists()
    fetched(server, tmp_path / "file")
    assert server.asked == [None, "bytes=70000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.cuts, server.ranges = [100_000], False
    fetched(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_dropped(server, tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    fetched(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_passing_trouble_is_waited_out_and_lasting_trouble_is_not(server, tmp_path):
    server.states = [503, 429]
    fetched(server, tmp_path / "file")
    assert len(server.asked) == 3
    server.states = [404]
    with pytest.raises(DataError, match="answers 404"):
        fetched(server, tmp_path / "other")
    assert len(server.asked) == 4


def test_a_host_that_does_not_exist_is_not_asked_twice(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("waited for a host that does not exist"))
    with pytest.raises(Unreachable, match="cannot be reached"):
        download("http://nowhere.invalid/file", tmp_path / "file", advance=lambda have, total: None)


@pytest.mark.parametrize("announced", [True, False])
def test_a_download_ends_at_the_limit(server, tmp_path, monkeypatch, announced):
    monkeypatch.setenv("NOISYRNN_DATA_LIMIT", "1")
    monkeypatch.setitem(globals(), "CONTENT", bytes(2**20 + 1))
    server.announced = announced
    with pytest.raises(DataError, match=r"sends more than 1 MB, which is the limit for one file"):
        fetched(server, tmp_path / "file")
    assert not list(tmp_path.iterdir())
    assert len(server.asked) == 1, "it is not asked again"
