from __future__ import annotations

import json
import math
import pickle
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

import provec as package
from provec import Provec
from provec._errors import error_of
from provec._retry import Retries, RetryOptions, retry_wait

Step = Any
COUNTS = dict.fromkeys(
    ("write_count", "query_count", "vector_count", "collection_count", "key_count"), 1
)
FREE = {
    "month": "2026-01",
    "plan": "free",
    "usage": COUNTS,
    "limits": COUNTS,
    "query_count_uncertainty": 0,
    "resets_at": "2026-02-01T00:00:00.000Z",
    "pricing_url": "https://provec.dev/pricing",
}
USAGE = (200, FREE, {})


def refusal(status: int, code: str, **more: Any) -> Step:
    return (
        status,
        {"error": "A sentence.", "code": code, "status": status, "requestId": "r", **more},
        {},
    )


class Scripted:
    """A service with one scripted step per request. It repeats the last step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.seen: list[str] = []
        scripted, self.release = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                scripted.seen.append(f"{self.command} {self.path}")
                step = scripted.steps[min(len(scripted.seen), len(scripted.steps)) - 1]
                if step == "silence":
                    scripted.release.wait()
                elif step != "cut":
                    status, body, headers = step
                    text = body if isinstance(body, bytes) else json.dumps(body).encode()
                    self.send_response(status)
                    for name, value in {
                        "Content-Length": str(len(text)),
                        "Connection": "close",
                        **headers,
                    }.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(text)
                self.close_connection = True

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            do_DELETE = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    service = Scripted()
    yield service
    service.release.set()
    service.server.shutdown()
    service.server.server_close()


@pytest.mark.parametrize(
    "failure",
    [
        refusal(503, "SHARD_UNAVAILABLE"),
        refusal(429, "RATE_LIMITED"),
        (502, b"<html>", {}),
        "cut",
        "silence",
    ],
)
def test_what_passes_is_tried_again(scripted: Scripted, failure: Step) -> None:
    scripted.steps = [failure, failure, USAGE]
    assert Provec(scripted.url, "k", timeout=1).get_usage() == FREE
    assert len(scripted.seen) == 3


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (refusal(429, "PLAN_LIMIT_REACHED", retryAfterSeconds=1), package.PlanLimitError),
        (refusal(500, "INTERNAL"), package.ServerError),
        (refusal(400, "INVALID_ARGUMENT"), package.BadRequestError),
        (refusal(429, "RATE_LIMITED", retryAfterSeconds=31), package.RateLimitedError),
        ((200, b"<html>", {}), package.ServerError),
        ((301, b"", {"Location": "http://127.0.0.1:1/"}), package.ServerError),
    ],
)
def test_what_stays_is_not(scripted: Scripted, failure: Step, expected: type[Exception]) -> None:
    scripted.steps = [failure]
    with pytest.raises(expected):
        Provec(scripted.url, "k").get_usage()
    assert len(scripted.seen) == 1


def test_gives_up_after_max_retries(scripted: Scripted) -> None:
    scripted.steps = [refusal(503, "UNAVAILABLE")]
    with pytest.raises(package.UnavailableError, match="gave up after 3 attempts in"):
        Provec(scripted.url, "k", max_retries=2).get_usage()
    assert len(scripted.seen) == 3


def test_what_the_client_adds_has_one_stop_before_it(scripted: Scripted) -> None:
    scripted.steps = [(502, b"<html>", {})]
    with pytest.raises(package.ProvecError, match=r"address right\? The client gave up after 2"):
        Provec(scripted.url, "k", max_retries=1).get_usage()

    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Reset by peer.", request=request)

    with httpx.Client(transport=httpx.MockTransport(fail)) as http_client:
        client = Provec("http://x", "k", http_client=http_client, max_retries=1)
        with pytest.raises(package.APIConnectionError, match=r"Reset by peer\. The client gave up"):
            client.get_usage()


def test_takes_what_the_header_says_where_the_body_does_not(scripted: Scripted) -> None:
    scripted.steps = [(503, b"a proxy", {"Retry-After": "31"})]
    with pytest.raises(package.UnavailableError) as refused:
        Provec(scripted.url, "k").get_usage()
    assert refused.value.retry_after == 31
    assert len(scripted.seen) == 1


def test_waits_grow_are_random_and_longer_by_what_the_service_asks_for() -> None:
    for retry in range(12):
        waits = [retry_wait(retry, 0) for _ in range(200)]
        longest = min(0.5 * 2**retry, 8)
        assert longest * 0.8 < max(waits) <= longest
        assert longest * 0.5 <= min(waits) < longest * 0.6
        assert retry_wait(retry, 30) >= 30


def unavailable(retry_after: str | None = None) -> Exception:
    body = {"error": "It starts.", "code": "UNAVAILABLE"}
    return error_of(503, retry_after, json.dumps(body).encode())


def attempts(
    takes: float,
    failure: Exception,
    *,
    retry_for: float = 60,
    max_retries: float = math.inf,
) -> tuple[list[float], Exception]:
    """Simulates attempts that take this long and fail, on a clock of their own. Returns the times
    at which they began, and the final error."""
    now = 5.0
    options = RetryOptions(retry_for, max_retries, 30)
    retries = Retries("getUsage", True, options, lambda: now)
    began = []
    while True:
        began.append(now - 5)
        now += takes
        try:
            now += retries.wait(failure)
        except package.ProvecError as error:
            return began, error


def test_tries_for_60_s_and_says_how_often() -> None:
    began, error = attempts(0, unavailable())
    assert began[-1] == 60
    assert len(began) > 8
    assert str(error) == f"It starts. The client gave up after {len(began)} attempts in 60.0 s."
    assert isinstance(error, package.UnavailableError)
    assert (error.code, error.status) == ("UNAVAILABLE", 503)


def test_for_as_long_as_it_is_told() -> None:
    assert len(attempts(90, package.APITimeoutError("late"))[0]) == 2
    assert attempts(0, unavailable(), retry_for=300)[0][-1] == 300
    began, error = attempts(0, unavailable(), retry_for=0)
    assert (began, str(error)) == ([0], "It starts.")
    assert len(attempts(0, unavailable(), max_retries=3)[0]) == 4
    assert len(attempts(0, unavailable("20"))[0]) > 1
    for asked, retry_for in (("31", 60), ("20", 15)):
        began, error = attempts(0, unavailable(asked), retry_for=retry_for)
        assert began == [0]
        assert str(error).endswith(f"gave up: the service asked it to wait {asked} s.")


LASTING = [
    ssl.SSLCertVerificationError("certificate verify failed"),
    ssl.SSLError("WRONG_VERSION_NUMBER"),
    socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
]
TRANSIENT = [
    ConnectionRefusedError(),
    ConnectionResetError(),
    ssl.SSLEOFError(),
    socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
]


@pytest.mark.parametrize("cause", [*LASTING, *TRANSIENT], ids=repr)
def test_what_lasts_is_not_tried_again(cause: Exception) -> None:
    count = 0

    def fail(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        raise httpx.ConnectError("failed", request=request) from cause

    with httpx.Client(transport=httpx.MockTransport(fail)) as http_client:
        client = Provec("http://x", "k", http_client=http_client, retry_for=0.02)
        with pytest.raises(package.APIConnectionError):
            client.get_usage()
    assert (count > 1) == (cause in TRANSIENT)


def test_tls_that_is_none_is_not_tried_again(scripted: Scripted) -> None:
    url = scripted.url.replace("http:", "https:")
    with pytest.raises(package.APIConnectionError, match=r"(?i)ssl"):
        Provec(url, "k").get_usage()


@pytest.mark.parametrize("wait", [-5, "soon", True, None, [], float("inf")])
@pytest.mark.parametrize("header", ["Wed, 32 Oct 2099", "-1", "1.5", "²", "9" * 5_000])
def test_a_retry_after_that_is_none_is_ignored(wait: Any, header: str) -> None:
    body = {"error": "A sentence.", "code": "UNAVAILABLE", "retryAfterSeconds": wait}
    error = error_of(503, header, json.dumps(body).encode())
    assert error.retry_after in (None, 1)


def test_a_retry_after_may_be_a_date() -> None:
    moment = datetime.now(timezone.utc) + timedelta(seconds=20)
    error = error_of(503, format_datetime(moment, usegmt=True), b"a proxy")
    assert 15 < (error.retry_after or 0) <= 20
    assert error_of(503, "Wed, 21 Oct 2015 07:28:00 GMT", b"").retry_after == 0


@pytest.mark.parametrize("answer", [b"null", b"[]", b"1", b"\xff", b"[" * 100_000, b""])
def test_an_answer_that_is_no_object(scripted: Scripted, answer: bytes) -> None:
    scripted.steps = [(200, answer, {})]
    with pytest.raises(package.ServerError, match="not a JSON object"):
        Provec(scripted.url, "k").collection("notes").count()
    scripted.steps = [(200, answer + b"\n", {"Content-Type": NDJSON})]
    with pytest.raises(package.APIConnectionError):
        list(Provec(scripted.url, "k").collection("notes").export())


@pytest.mark.parametrize(
    "headers", [{"Content-Encoding": "gzip"}, {"Content-Type": "x; charset=\t"}]
)
def test_an_answer_that_cannot_be_read(scripted: Scripted, headers: dict[str, str]) -> None:
    scripted.steps = [(200, b"\xff\xfe", headers)]
    with pytest.raises(package.ProvecError):
        Provec(scripted.url, "k", max_retries=0).get_usage()


def test_a_verify_that_takes_too_long_is_not_begun_anew(scripted: Scripted) -> None:
    scripted.steps = ["silence"]
    with pytest.raises(package.APITimeoutError) as late:
        Provec(scripted.url, "k", timeout=0.2).collection("notes").verify()
    assert isinstance(late.value, TimeoutError)
    assert len(scripted.seen) == 1


def test_errors_can_be_pickled(scripted: Scripted) -> None:
    scripted.steps = [refusal(400, "INVALID_ARGUMENT", details=[{"path": "topK"}])]
    with pytest.raises(package.BadRequestError) as refused:
        Provec(scripted.url, "k").get_usage()
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.details) == ("A sentence.", [{"path": "topK"}])
    shown = pickle.loads(pickle.dumps(package.VerificationError("wrong-root", "Why.")))
    assert (str(shown), shown.reason) == ("Why.", "wrong-root")


def test_what_happens_once_is_not_sent_twice(scripted: Scripted) -> None:
    scripted.steps = [
        "cut",
        refusal(503, "UNAVAILABLE"),
        refusal(429, "RATE_LIMITED"),
        (200, {"deleted": True}, {}),
    ]
    provec = Provec(scripted.url, "k")
    with pytest.raises(package.APIConnectionError, match="It was not repeated"):
        provec.delete_collection("notes")
    with pytest.raises(package.UnavailableError):
        provec.delete_collection("notes")
    assert len(scripted.seen) == 2
    provec.delete_collection("notes")
    assert len(scripted.seen) == 4


NDJSON = "application/x-ndjson"
HEAD = json.dumps(
    {
        "export": {
            "collectionId": "11111111-2222-4333-8444-555555555555",
            "name": "notes",
            "dimensions": 1,
            "metric": "cosine",
            "version": 1,
            "merkleRoot": "0" * 64,
            "vectorCount": 1,
        }
    }
).encode()


@pytest.mark.parametrize("body", [HEAD + b'\n{"id":"a","values":[1]}\n', HEAD + b"\n"])
@pytest.mark.parametrize("promised", [0, 10])
def test_an_export_that_is_cut_off_is_not_taken(
    scripted: Scripted, body: bytes, promised: int
) -> None:
    headers = {"Content-Type": NDJSON, "Content-Length": str(len(body) + promised)}
    scripted.steps = [(200, body, headers)]
    with pytest.raises(package.APIConnectionError):
        list(Provec(scripted.url, "k").collection("notes").export())


@pytest.mark.parametrize(
    "text", ["", "<html>", "null", '{"error": {"code": 1}}', '{"error": "only"}']
)
def test_an_answer_of_something_else(text: str) -> None:
    error = error_of(404, None, text.encode())
    assert isinstance(error, package.NotFoundError)
    assert (error.code, error.request_id) == (None, None)
    assert "not Provec's" in str(error)
