from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, TypeVar, cast

import httpx

from .. import _api as api
from .._retry import RetryOptions
from .._wire import given
from .collection import AsyncCollection
from .listing import AsyncListing
from .transport import AsyncTransport, Options

Me = TypeVar("Me", bound="_AsyncConnected")
Scope = Literal["read", "write", "manage"]


class _AsyncConnected:
    """Ends its connections at the end of a `with`, or by `aclose`."""

    _transport: AsyncTransport

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def __aenter__(self: Me) -> Me:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


class AsyncProvec(_AsyncConnected):
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
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = Options(timeout, RetryOptions(retry_for, max_retries, max_retry_after))
        self._transport = AsyncTransport(url, api_key, options, http_client)

    def collection(self, name: str) -> AsyncCollection:
        """The collection of that name or alias; asks nothing, so it need not be there."""
        return AsyncCollection(self._transport, name)

    async def create_collection(
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
        answer = await self._transport.send("createCollection", body=body)
        return cast(api.CreateCollectionResult, answer)["collection"]

    async def delete_collection(self, name: str) -> None:
        """Deletes a collection with all that it holds; takes no alias."""
        await self._transport.send("deleteCollection", {"name": name})

    def list_collections(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> AsyncListing[api.ListCollectionsResult, api.Collection]:
        async def ask(cursor: str | None) -> api.ListCollectionsResult:
            query = given(limit=limit, cursor=cursor)
            return cast(
                api.ListCollectionsResult,
                await self._transport.send("listCollections", query=query),
            )

        return AsyncListing(ask, cursor, "collections")

    async def list_aliases(self) -> list[api.Alias]:
        """All of them, however many pages they take."""

        async def ask(cursor: str | None) -> api.ListAliasesResult:
            query = given(cursor=cursor)
            return cast(
                api.ListAliasesResult, await self._transport.send("listAliases", query=query)
            )

        pages: AsyncListing[api.ListAliasesResult, api.Alias] = AsyncListing(ask, None, "aliases")
        return [item async for item in pages]

    async def get_alias(self, alias: str) -> api.Alias:
        return cast(api.Alias, await self._transport.send("getAlias", {"alias": alias}))

    async def put_alias(self, alias: str, collection: str) -> api.Alias:
        """Makes an alias, or switches it to another collection at once."""
        body = {"collection": collection}
        return cast(api.Alias, await self._transport.send("putAlias", {"alias": alias}, body=body))

    async def delete_alias(self, alias: str) -> None:
        await self._transport.send("deleteAlias", {"alias": alias})

    async def get_usage(self) -> api.Usage:
        return cast(api.Usage, await self._transport.send("getUsage"))

    async def list_keys(self) -> list[api.ApiKey]:
        """All of them, however many pages they take."""

        async def ask(cursor: str | None) -> api.ListKeysResult:
            query = given(cursor=cursor)
            return cast(api.ListKeysResult, await self._transport.send("listKeys", query=query))

        pages: AsyncListing[api.ListKeysResult, api.ApiKey] = AsyncListing(ask, None, "keys")
        return [item async for item in pages]

    async def create_key(
        self, name: str, *, scopes: Sequence[Scope] | None = None, expires_at: str | None = None
    ) -> api.NewApiKey:
        """Only this answer has the key's secret. `expires_at`: ISO 8601."""
        body = {
            **given(name=name, scopes=scopes),
            **({} if expires_at is None else {"expires_at": expires_at}),
        }
        return cast(api.CreateKeyResult, await self._transport.send("createKey", body=body))["key"]

    async def revoke_key(self, id: str) -> None:
        await self._transport.send("revokeKey", {"id": id})


class AsyncProvecOperator(_AsyncConnected):
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
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = Options(timeout, RetryOptions(retry_for, max_retries, max_retry_after))
        self._transport = AsyncTransport(url, admin_token, options, http_client)

    async def list_accounts(self) -> list[api.Account]:
        """All of them, however many pages they take."""

        async def ask(cursor: str | None) -> api.ListAccountsResult:
            query = given(cursor=cursor)
            return cast(
                api.ListAccountsResult, await self._transport.send("listAccounts", query=query)
            )

        pages: AsyncListing[api.ListAccountsResult, api.Account] = AsyncListing(
            ask, None, "accounts"
        )
        return [item async for item in pages]

    async def create_account(self, name: str, plan: str) -> api.CreateAccountResult:
        """With its first key, whose secret only this answer has."""
        answer = await self._transport.send("createAccount", body={"name": name, "plan": plan})
        return cast(api.CreateAccountResult, answer)

    async def change_plan(self, id: str, plan: str) -> api.Account:
        answer = await self._transport.send("changePlan", {"id": id}, body={"plan": plan})
        return cast(api.ChangePlanResult, answer)["account"]

    async def delete_account(self, id: str) -> None:
        """Deletes the account with its keys and collections."""
        await self._transport.send("deleteAccount", {"id": id})
