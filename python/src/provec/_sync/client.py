# Generated from _async by tools/unasync.py; edit that instead.
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, TypeVar, cast

import httpx

from .. import _api as api
from .._retry import RetryOptions
from .._wire import given
from .collection import Collection
from .listing import Listing
from .transport import Transport, Options

Me = TypeVar("Me", bound="_Connected")
Scope = Literal["read", "write", "manage"]


class _Connected:
    """Ends its connections at the end of a `with`, or by `close`."""

    _transport: Transport

    def close(self) -> None:
        self._transport.close()

    def __enter__(self: Me) -> Me:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Provec(_Connected):
    """An account of a Provec, by one of its API keys. Nothing is asked before the first method.

    `timeout`: seconds without progress until an attempt is given up; by default 90, for `verify`
    610, and for imports none while they wait. `retry_for`: for how many seconds after its first
    failure a call is tried again. `max_retries`: bound on the attempts after the first one.
    `max_retry_after`: the longest wait, in seconds, that the service may ask for before a retry.
    `http_client`: to be used, and not closed, in place of an own one. Raises ValueError for an
    invalid URL or key."""

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout: float | None = None,
        retry_for: float = 60,
        max_retries: float = math.inf,
        max_retry_after: float = 30,
        http_client: httpx.Client | None = None,
    ) -> None:
        options = Options(timeout, RetryOptions(retry_for, max_retries, max_retry_after))
        self._transport = Transport(url, api_key, options, http_client)

    def collection(self, name: str) -> Collection:
        """The collection of that name or alias; asks nothing, so it need not be there."""
        return Collection(self._transport, name)

    def create_collection(
        self,
        name: str,
        dimensions: int,
        *,
        metric: Literal["cosine", "euclidean", "dot"] | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        quantization: Literal["bf16", "f32", "f16", "i8"] | None = None,
        deletion_protection: bool | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> api.Collection:
        body = given(
            name=name,
            dimensions=dimensions,
            metric=metric,
            shards=shards,
            replicas=replicas,
            quantization=quantization,
            deletion_protection=deletion_protection,
            tags=tags,
        )
        answer = self._transport.send("createCollection", body=body)
        return cast(api.CreateCollectionResult, answer)["collection"]

    def delete_collection(self, name: str) -> None:
        """Deletes a collection with all that it holds; takes no alias."""
        self._transport.send("deleteCollection", {"name": name})

    def list_collections(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Listing[api.ListCollectionsResult, api.Collection]:
        def ask(cursor: str | None) -> api.ListCollectionsResult:
            query = given(limit=limit, cursor=cursor)
            return cast(
                api.ListCollectionsResult,
                self._transport.send("listCollections", query=query),
            )

        return Listing(ask, cursor, "collections")

    def list_aliases(self) -> list[api.Alias]:
        """All of them, however many pages they take."""

        def ask(cursor: str | None) -> api.ListAliasesResult:
            query = given(cursor=cursor)
            return cast(
                api.ListAliasesResult, self._transport.send("listAliases", query=query)
            )

        pages: Listing[api.ListAliasesResult, api.Alias] = Listing(ask, None, "aliases")
        return [item for item in pages]

    def get_alias(self, alias: str) -> api.Alias:
        return cast(api.Alias, self._transport.send("getAlias", {"alias": alias}))

    def put_alias(self, alias: str, collection: str) -> api.Alias:
        """Makes an alias, or switches it to another collection at once."""
        body = {"collection": collection}
        return cast(api.Alias, self._transport.send("putAlias", {"alias": alias}, body=body))

    def delete_alias(self, alias: str) -> None:
        self._transport.send("deleteAlias", {"alias": alias})

    def get_usage(self) -> api.Usage:
        return cast(api.Usage, self._transport.send("getUsage"))

    def list_keys(self) -> list[api.ApiKey]:
        """All of them, however many pages they take."""

        def ask(cursor: str | None) -> api.ListKeysResult:
            query = given(cursor=cursor)
            return cast(api.ListKeysResult, self._transport.send("listKeys", query=query))

        pages: Listing[api.ListKeysResult, api.ApiKey] = Listing(ask, None, "keys")
        return [item for item in pages]

    def create_key(
        self, name: str, *, scopes: Sequence[Scope] | None = None, expires_at: str | None = None
    ) -> api.NewApiKey:
        """Only this answer has the key's secret. `expires_at`: ISO 8601."""
        body = {
            **given(name=name, scopes=scopes),
            **({} if expires_at is None else {"expires_at": expires_at}),
        }
        return cast(api.CreateKeyResult, self._transport.send("createKey", body=body))["key"]

    def revoke_key(self, id: str) -> None:
        self._transport.send("revokeKey", {"id": id})


class ProvecOperator(_Connected):
    """The accounts of a Provec, for holders of its `PROVEC_ADMIN_TOKEN`."""

    def __init__(
        self,
        url: str,
        admin_token: str,
        *,
        timeout: float | None = None,
        retry_for: float = 60,
        max_retries: float = math.inf,
        max_retry_after: float = 30,
        http_client: httpx.Client | None = None,
    ) -> None:
        options = Options(timeout, RetryOptions(retry_for, max_retries, max_retry_after))
        self._transport = Transport(url, admin_token, options, http_client)

    def list_accounts(self) -> list[api.Account]:
        """All of them, however many pages they take."""

        def ask(cursor: str | None) -> api.ListAccountsResult:
            query = given(cursor=cursor)
            return cast(
                api.ListAccountsResult, self._transport.send("listAccounts", query=query)
            )

        pages: Listing[api.ListAccountsResult, api.Account] = Listing(
            ask, None, "accounts"
        )
        return [item for item in pages]

    def create_account(self, name: str, plan: str) -> api.CreateAccountResult:
        """With its first key, whose secret only this answer has."""
        answer = self._transport.send("createAccount", body={"name": name, "plan": plan})
        return cast(api.CreateAccountResult, answer)

    def change_plan(self, id: str, plan: str) -> api.Account:
        answer = self._transport.send("changePlan", {"id": id}, body={"plan": plan})
        return cast(api.ChangePlanResult, answer)["account"]

    def delete_account(self, id: str) -> None:
        """Deletes the account with its keys and collections."""
        self._transport.send("deleteAccount", {"id": id})
