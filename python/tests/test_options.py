"""An option that is invalid is refused by its name, before anything is sent."""

from __future__ import annotations

import math
from typing import Any

import httpx
import numpy
import pytest

from provec import AsyncProvec, Provec, ProvecOperator

URLS = [
    "ftp://x",
    "notes",
    "x:8080",
    "http://me:secret@x",
    "",
    "http://x?key=secret",
    "http://:secret@x",
    "http://x/api/v1",
    "http://",
    "http://[secret",
    "http://x:secret",
    "http://x:99999",
    "http://x y",
    "http://x\nsecret",
    None,
    5,
    b"http://x",
    {},
]


@pytest.mark.parametrize("url", URLS)
def test_refuses_the_url_without_saying_it(url: Any) -> None:
    with pytest.raises(ValueError, match=r"^url must be the address of a Provec") as refused:
        Provec(url, "k")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("key", ["", "secret\n", "secret ü", "two words", None, 5, b"secret"])
def test_refuses_the_key_without_saying_it(key: Any) -> None:
    for client, name in ((Provec, "api_key"), (ProvecOperator, "admin_token")):
        with pytest.raises(ValueError, match=rf"^{name} must be") as refused:
            client("http://x", key)
        assert "secret" not in str(refused.value)


NEVER = [math.nan, -1, -math.inf, "1", True, [], 1j]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("timeout", [0]),
        ("retry_for", [None]),
        ("max_retries", [None, 0.5]),
        ("max_retry_after", [None]),
        ("max_answer_bytes", [None, 0]),
    ],
)
def test_names_a_number_that_is_none(name: str, values: list[Any]) -> None:
    for value in [*NEVER, *values]:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} must be .*\. It (is|has)"):
            Provec("http://x", "k", **{name: value})


@pytest.mark.parametrize("compress", [None, 0, 1, "gzip", []])
def test_names_a_compress_that_is_no_bool(compress: Any) -> None:
    with pytest.raises(TypeError, match=r"^compress must be True or False\. It is "):
        Provec("http://x", "k", compress=compress)


def test_names_a_client_of_the_other_kind() -> None:
    for wrong in (httpx.Client(), "http://x", object()):
        with pytest.raises(TypeError, match=r"^http_client must be an httpx\.AsyncClient"):
            AsyncProvec("http://x", "k", http_client=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^http_client must be an httpx\.Client"):
        Provec("http://x", "k", http_client=httpx.AsyncClient())  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1, 0.5, numpy.float32(2), 1e300, math.inf])
def test_takes_what_is_valid(value: float) -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={"count": 1})

    http_client = httpx.Client(transport=httpx.MockTransport(answer))
    options: Any = {"retry_for": value, "max_retry_after": value, "http_client": http_client}
    client = Provec("https://x:8443/below/", "k", timeout=value, **options)
    assert client.collection("notes").count() == 1
    assert seen == [value if value < 1e9 else None]


def test_waits_longer_for_a_command_than_the_service() -> None:
    waited: dict[str, float] = {}

    def handle(request: httpx.Request) -> httpx.Response:
        waited[request.url.path.rpartition("/")[2]] = request.extensions["timeout"]["read"]
        answer = {"shard": "c.0", "node": "n", "previousNode": None, "left": 0, "collectionId": "c"}
        return httpx.Response(200, json=answer)

    client = httpx.Client(transport=httpx.MockTransport(handle))
    operator = ProvecOperator("http://x", "k", http_client=client)
    operator.move_shard("c.0", "n")
    operator.drain_node("n")
    operator.resume_anchoring("c")
    # The gateway's own limits in seconds (services/gateway/operator-routes.ts).
    limits = {"move": 240, "drain": 90, "resume": 240}
    assert {name: waited[name] > limit for name, limit in limits.items()} == dict.fromkeys(
        limits, True
    )
