"""The tests use a Provec service with its embedded ledger, which `npm run test:long -- python`
starts. It is described by PROVEC_URL, PROVEC_KEY (all scopes, an account without limits),
PROVEC_ADMIN_TOKEN, PROVEC_RPC_URL and PROVEC_AUTHORITY."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from provec import Provec, ProvecOperator


@dataclass
class Service:
    url: str = os.environ["PROVEC_URL"]
    key: str = os.environ["PROVEC_KEY"]
    admin_token: str = os.environ["PROVEC_ADMIN_TOKEN"]
    rpc_url: str = os.environ["PROVEC_RPC_URL"]
    authority: str = os.environ["PROVEC_AUTHORITY"]
    #: Method and path of every request that the tests' clients sent.
    sent: set[tuple[str, str]] = field(default_factory=set)

    def note(self, request: httpx.Request) -> None:
        self.sent.add((request.method, request.url.path))

    def unsent(self) -> list[str]:
        """Returns the operations of `/api/v1` that no test has called yet."""
        paths = httpx.get(f"{self.url}/openapi.json").json()["paths"]
        operations = [
            (method.upper(), path, operation["operationId"])
            for path, methods in paths.items()
            for method, operation in methods.items()
            if path.startswith("/api/v1")
        ]
        return [name for method, path, name in operations if not self._was_sent(method, path)]

    def _was_sent(self, method: str, path: str) -> bool:
        pattern = re.sub(r"\{\w+\}", "[^/]+", path)
        return any(sent == method and re.fullmatch(pattern, at) for sent, at in self.sent)


@pytest.fixture(scope="session")
def service() -> Service:
    return Service()


@pytest.fixture(scope="module")
def provec(service: Service) -> Iterator[Provec]:
    http_client = httpx.Client(event_hooks={"request": [service.note]})
    with http_client, Provec(f"{service.url}/", service.key, http_client=http_client) as client:
        yield client


@pytest.fixture(scope="module")
def operator(service: Service) -> Iterator[ProvecOperator]:
    http_client = httpx.Client(event_hooks={"request": [service.note]})
    with (
        http_client,
        ProvecOperator(service.url, service.admin_token, http_client=http_client) as client,
    ):
        yield client
