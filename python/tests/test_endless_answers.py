"""No answer can fill the client's memory or block it forever."""

from __future__ import annotations

import gzip
import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

import provec as package
from provec import Provec
from provec._sync import answer as reading
from provec._sync.ledger import ledger_account

MIB = 1024 * 1024
BOMB = gzip.compress(b" " * (64 * MIB))


class Hostile:
    """A service with scripted answers. Without content, an answer never ends."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.content: bytes | None = None
        self.left = threading.Event()
        hostile = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(hostile.status)
                for name, value in hostile.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if hostile.content is not None:
                    self.wfile.write(hostile.content)
                    return
                try:
                    while True:
                        self.wfile.write(b" " * 16_384)
                except OSError:
                    hostile.left.set()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def client(self, **options: Any) -> Provec:
        return Provec(self.url, "k", max_retries=0, **{"max_answer_bytes": 100_000, **options})


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    service = Hostile()
    yield service
    service.server.shutdown()
    service.server.server_close()


def test_leaves_an_answer_without_end(hostile: Hostile) -> None:
    with pytest.raises(package.ServerError, match=r"more than 100000 bytes.*max_answer_bytes"):
        hostile.client().get_usage()
    assert hostile.left.wait(30)


def test_an_error_without_end_keeps_its_status(hostile: Hostile) -> None:
    hostile.status = 503
    with pytest.raises(package.UnavailableError, match="status 503"):
        hostile.client().get_usage()
    assert hostile.left.wait(30)


def test_an_export_has_any_size_but_no_line_without_end(hostile: Hostile) -> None:
    hostile.headers = {"Content-Type": "application/x-ndjson"}
    with pytest.raises(package.ServerError, match="line of more than 4194304 bytes"):
        list(hostile.client().collection("notes").export())
    assert hostile.left.wait(30)


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip"])
@pytest.mark.parametrize("status", [200, 500])
def test_inflates_no_more_than_it_may(hostile: Hostile, encoding: str, status: int) -> None:
    hostile.status, hostile.headers = (
        status,
        {
            "Content-Encoding": encoding,
            "Content-Type": "application/x-ndjson",
        },
    )
    hostile.content = BOMB if encoding == "gzip" else gzip.compress(BOMB)
    notes = hostile.client().collection("notes")
    calls = [notes.count, lambda: ledger_account(hostile.url, "a")]
    if status == 200:
        calls.append(lambda: list(notes.export()))
    for call in calls:
        tracemalloc.start()
        with pytest.raises((package.ProvecError, package.LedgerError)):
            call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 24 * MIB


def test_reads_what_is_compressed(hostile: Hostile) -> None:
    hostile.headers = {"Content-Encoding": "GZIP"}
    hostile.content = gzip.compress(b'{"count": 7}'.ljust(100_000))
    assert hostile.client().collection("notes").count() == 7
    hostile.headers = {"Content-Encoding": ""}
    hostile.content = b'{"count": 8}'.ljust(100_000)
    assert hostile.client().collection("notes").count() == 8


def test_an_answer_that_only_drips_ends(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def later() -> float:
        now[0] += 1
        return now[0]

    monkeypatch.setattr(reading.time, "monotonic", later)
    with pytest.raises(package.APITimeoutError, match="did not end within 20 s"):
        hostile.client(timeout=2, max_answer_bytes=1e12).get_usage()


def test_what_a_hook_of_the_program_has_read_is_taken(hostile: Hostile) -> None:
    hostile.content = b'{"count": 7}'
    hooks: Any = {"response": [lambda response: response.read()]}
    with httpx.Client(event_hooks=hooks) as http_client:
        assert hostile.client(http_client=http_client).collection("notes").count() == 7
