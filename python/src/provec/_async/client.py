from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

import httpx

from .. import _api as api
from .._errors import NotFoundError, ProvecError
from .._get_or_create import matching, may_exist
from .._options import options_of
from .._wire import given
from .collection import AsyncCollection
from .listing import AsyncListing
from .transport import AsyncTransport

Me = TypeVar("Me", bound="_AsyncConnected")
Scope = Literal["read", "write", "manage"]
Metric = Literal["cosine", "euclidean", "dot"]
Quantization = Literal["bf16", "f32", "f16", "i8"]


class _AsyncConnected:
    """Closes its connections at the end of a `with` block, or with `aclose`."""

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

    def _listing(
        self,
        operation: str,
        items: str,
        cursor: str | None,
        names: Mapping[str, str] | None = None,
        **query: Any,
    ) -> AsyncListing[Any, Any]:
        """Returns the list under the member `items` of the operation's pages."""

        async def ask(cursor: str | None) -> Any:
            page = given(**query, cursor=cursor)
            return await self._transport.send(operation, names, query=page)

        return AsyncListing(ask, cursor, items)


class AsyncProvec(_AsyncConnected):
    """Client for one account, identified by an API key. The constructor sends no request.

    `timeout`: seconds without progress after which an attempt fails, `math.inf` for none; by
    default 90, for `verify` 610, and for imports none while they wait for the answer. `retry_for`:
    seconds from the first failure of a call to its last retry. `max_retries`: maximum number of
    retries of a call. `max_retry_after`: longest wait before a retry, in seconds, that the service
    may ask for. `max_answer_bytes`: maximum size of an answer after decompression; an export may
    have any size. `compress`: whether the service should compress answers above 1 KB, which pays on
    slow networks. `http_client`: client to use instead of a new one; it is not closed. Raises
    ValueError or TypeError, which name the invalid option."""

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout: float | None = None,
        retry_for: float = 60,
        max_retries: float = math.inf,
        max_retry_after: float = 30,
        max_answer_bytes: float = 256 * 1024 * 1024,
        compress: bool = False,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = options_of(
            timeout=timeout,
            retry_for=retry_for,
            max_retries=max_retries,
            max_retry_after=max_retry_after,
            max_answer_bytes=max_answer_bytes,
            compress=compress,
        )
        self._transport = AsyncTransport(url, api_key, options, http_client)

    def collection(self, name: str) -> AsyncCollection:
        """Returns the collection of that name or alias. Sends no request, so it need not exist."""
        return AsyncCollection(self._transport, name)

    async def create_collection(
        self,
        name: str,
        dimensions: int,
        *,
        metric: Metric = "cosine",
        shards: int = 1,
        replicas: int = 0,
        quantization: Quantization = "bf16",
        deletion_protection: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> api.Collection:
        """Creates a collection. Raises ConflictError if the name is taken.

        Args:
            name: Name of the collection, unique per account.
            dimensions: Length of every vector.
            metric: Function that compares vectors.
            shards: Number of shards: a power of two, at most 256. The plan may allow fewer.
            replicas: Followers per shard, at most 3.
            quantization: Precision of the search index. Scores are always computed from the exact
                float32 vectors.
            deletion_protection: Whether the collection cannot be deleted.
            tags: Up to 20 tags, each a name and a text, for your own use.
        """
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

    async def get_or_create(
        self,
        name: str,
        dimensions: int,
        *,
        metric: Metric | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        quantization: Quantization | None = None,
        deletion_protection: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> api.Collection:
        """Returns the collection of that name, and creates it if it does not exist.

        The arguments are those of `create_collection`, with the same defaults for a new collection.
        Raises ConflictError if the collection exists with another value of `dimensions`, or of
        `metric`, `shards`, `replicas` or `quantization` if they are given. `deletion_protection`
        and `tags` apply only to a new collection.
        """
        fixed = given(
            dimensions=dimensions,
            metric=metric,
            shards=shards,
            replicas=replicas,
            quantization=quantization,
        )
        others = given(name=name, deletion_protection=deletion_protection, tags=tags)
        attempt = 0
        while True:
            try:
                found = await self.collection(name).describe()
                return matching(found, name, fixed)
            except NotFoundError as error:
                if error.code != "COLLECTION_NOT_FOUND":
                    raise
            attempt += 1
            try:
                answer = await self._transport.send("createCollection", body={**others, **fixed})
                return cast(api.CreateCollectionResult, answer)["collection"]
            except ProvecError as error:
                if attempt > 1 or not may_exist(error):
                    raise

    async def delete_collection(self, name: str) -> None:
        """Deletes a collection and all its records.

        Args:
            name: Name of the collection. An alias is refused.
        """
        await self._transport.send("deleteCollection", {"name": name})

    def list_collections(
        self, *, limit: int = 1000, cursor: str | None = None
    ) -> AsyncListing[api.ListCollectionsResult, api.Collection]:
        """Lists the collections, newest first. Iterating requests one page after another.

        Args:
            limit: Maximum number of collections per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listCollections", "collections", cursor, limit=limit)

    def list_aliases(
        self, *, limit: int = 1000, cursor: str | None = None
    ) -> AsyncListing[api.ListAliasesResult, api.Alias]:
        """Lists the aliases. Iterating requests one page after another.

        Args:
            limit: Maximum number of aliases per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listAliases", "aliases", cursor, limit=limit)

    async def get_alias(self, alias: str) -> api.Alias:
        """Returns an alias with the collection that it points to."""
        return cast(api.Alias, await self._transport.send("getAlias", {"alias": alias}))

    async def put_alias(self, alias: str, collection: str) -> api.Alias:
        """Creates an alias, or atomically switches it to another collection.

        Args:
            alias: Name of the alias. No collection may have the same name.
            collection: Name of the collection that the alias points to.
        """
        body = {"collection": collection}
        return cast(api.Alias, await self._transport.send("putAlias", {"alias": alias}, body=body))

    async def delete_alias(self, alias: str) -> None:
        """Deletes an alias, but not its collection."""
        await self._transport.send("deleteAlias", {"alias": alias})

    async def get_usage(self) -> api.Usage:
        """Returns this month's usage and the plan's limits."""
        return cast(api.Usage, await self._transport.send("getUsage"))

    async def get_daily_usage(self, *, days: int = 30) -> list[api.UsageDay]:
        """Returns the usage of each of the last days, oldest first.

        Args:
            days: Number of days, today included.
        """
        answer = await self._transport.send("getDailyUsage", query=given(days=days))
        return cast(api.GetDailyUsageResult, answer)["days"]

    def list_keys(
        self, *, limit: int = 1000, cursor: str | None = None
    ) -> AsyncListing[api.ListKeysResult, api.ApiKey]:
        """Lists the keys without their secrets. Iterating requests one page after another.

        Args:
            limit: Maximum number of keys per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listKeys", "keys", cursor, limit=limit)

    def list_audit_entries(
        self, *, limit: int = 100, cursor: str | None = None
    ) -> AsyncListing[api.AuditEntries, api.AuditEntry]:
        """Lists the changes made with the account's keys, oldest first.

        Args:
            limit: Maximum number of entries per page.
            cursor: Position of an entry, to start at the next one.
        """
        return self._listing("listAuditEntries", "entries", cursor, limit=limit)

    async def create_key(
        self,
        name: str,
        *,
        scopes: Sequence[Scope] = ("read", "write", "manage"),
        expires_at: str | None = None,
    ) -> api.NewApiKey:
        """Creates a key. Only this answer has its secret.

        Args:
            name: What the key is for.
            scopes: What the key may do. No scope implies another.
            expires_at: Time at which the key expires, in ISO 8601 with an offset; None for never.
        """
        body = {
            **given(name=name, scopes=scopes),
            **({} if expires_at is None else {"expires_at": expires_at}),
        }
        return cast(api.CreateKeyResult, await self._transport.send("createKey", body=body))["key"]

    async def get_audit(
        self, token: str, *, limit: int = 100, cursor: str | None = None
    ) -> api.AuditView:
        """Returns what an audit link shows. The link may be of any account.

        Args:
            token: Token of the link.
            limit: Maximum number of roots in `history`.
            cursor: `nextCursor` of a `history`, to get the page after it.
        """
        query = given(limit=limit, cursor=cursor)
        answer = await self._transport.send("getAudit", {"token": token}, query=query)
        return cast(api.AuditView, answer)

    async def revoke_key(self, id: str) -> None:
        """Revokes the key with this id."""
        await self._transport.send("revokeKey", {"id": id})


class AsyncProvecOperator(_AsyncConnected):
    """Manages the accounts and nodes of a Provec service; requires its `PROVEC_ADMIN_TOKEN`."""

    def __init__(
        self,
        url: str,
        admin_token: str,
        *,
        timeout: float | None = None,
        retry_for: float = 60,
        max_retries: float = math.inf,
        max_retry_after: float = 30,
        max_answer_bytes: float = 256 * 1024 * 1024,
        compress: bool = False,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = options_of(
            timeout=timeout,
            retry_for=retry_for,
            max_retries=max_retries,
            max_retry_after=max_retry_after,
            max_answer_bytes=max_answer_bytes,
            compress=compress,
        )
        self._transport = AsyncTransport(url, admin_token, options, http_client, "admin_token")

    def list_accounts(
        self, *, limit: int = 1000, cursor: str | None = None, usage: bool = False
    ) -> AsyncListing[api.ListAccountsResult, api.Account]:
        """Lists the accounts. Iterating requests one page after another.

        Args:
            limit: Maximum number of accounts per page.
            cursor: `nextCursor` of a page, to start at the page after it.
            usage: Whether to add the usage of each account. A page then has at most 100.
        """
        return self._listing("listAccounts", "accounts", cursor, limit=limit, usage=usage)

    async def create_account(self, name: str, plan: str) -> api.CreateAccountResult:
        """Creates an account and its first key. Only this answer has the key's secret.

        Args:
            name: Name of the account.
            plan: "free", "pro", "business", "enterprise", or a plan of the operator's.
        """
        answer = await self._transport.send("createAccount", body={"name": name, "plan": plan})
        return cast(api.CreateAccountResult, answer)

    async def list_plans(self) -> list[api.Plan]:
        """Lists the plans with their limits; None means no limit."""
        return cast(api.ListPlansResult, await self._transport.send("listPlans"))["plans"]

    async def put_plan(
        self,
        name: str,
        *,
        vectors: int | None,
        writes: int | None,
        queries: int | None,
        collections: int | None,
        keys: int,
        shards: int | None,
        anchoring: bool,
    ) -> api.Plan:
        """Creates a plan, or changes its limits; None means no limit.

        Every instance of the service applies them within half a second.

        Args:
            name: 1 to 40 characters of a-z, 0-9, "_" and "-".
            vectors: Stored vectors.
            writes: Records written per month.
            queries: Queries and facets per month.
            collections: Collections.
            keys: API keys.
            shards: Shards of a new collection.
            anchoring: Whether roots are written to the ledger.
        """
        limits = {
            "vectors": vectors,
            "writes": writes,
            "queries": queries,
            "collections": collections,
            "keys": keys,
            "shards": shards,
            "anchoring": anchoring,
        }
        answer = await self._transport.send("putPlan", {"plan": name}, body=limits)
        return cast(api.PutPlanResult, answer)["plan"]

    async def delete_plan(self, name: str) -> None:
        """Deletes a plan that no account has. A built-in one gets its configured limits back."""
        await self._transport.send("deletePlan", {"plan": name})

    async def change_plan(self, id: str, plan: str) -> api.Account:
        """Changes an account's plan.

        Args:
            id: Id of the account.
            plan: "free", "pro", "business", "enterprise", or a plan of the operator's.
        """
        answer = await self._transport.send("changePlan", {"id": id}, body={"plan": plan})
        return cast(api.ChangePlanResult, answer)["account"]

    async def delete_account(self, id: str) -> None:
        """Deletes an account with its keys and collections."""
        await self._transport.send("deleteAccount", {"id": id})

    async def get_account(self, id: str) -> api.Account:
        """Returns an account with its usage."""
        answer = await self._transport.send("getAccount", {"id": id})
        return cast(api.GetAccountResult, answer)["account"]

    def list_keys(
        self, account_id: str, *, limit: int = 1000, cursor: str | None = None
    ) -> AsyncListing[api.ListAccountKeysResult, api.ApiKey]:
        """Lists an account's keys, newest first, without their secrets.

        Args:
            account_id: Id of the account.
            limit: Maximum number of items per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listAccountKeys", "keys", cursor, {"id": account_id}, limit=limit)

    async def create_key(
        self,
        account_id: str,
        name: str,
        *,
        scopes: Sequence[Scope] = ("read", "write", "manage"),
        expires_at: str | None = None,
    ) -> api.NewApiKey:
        """Creates a key of an account, such as one that replaces a lost key.

        Only this answer has its secret.

        Args:
            account_id: Id of the account.
            name: What the key is for.
            scopes: What the key may do. No scope implies another.
            expires_at: Time at which the key expires, in ISO 8601 with an offset; None for never.
        """
        body = {
            **given(name=name, scopes=scopes),
            **({} if expires_at is None else {"expires_at": expires_at}),
        }
        answer = await self._transport.send("createAccountKey", {"id": account_id}, body=body)
        return cast(api.CreateAccountKeyResult, answer)["key"]

    async def revoke_key(self, account_id: str, key: str) -> None:
        """Revokes an account's key."""
        await self._transport.send("revokeAccountKey", {"id": account_id, "key": key})

    def list_audit_entries(
        self, *, limit: int = 100, cursor: str | None = None, account: str | None = None
    ) -> AsyncListing[api.AuditEntries, api.AuditEntry]:
        """Lists the changes made with the operator token or at a console, oldest first.

        Args:
            limit: Maximum number of entries per page.
            cursor: Position of an entry, to start at the next one.
            account: Id of an account, to list the changes made with its keys instead.
        """
        return self._listing("listAllAuditEntries", "entries", cursor, limit=limit, account=account)

    async def list_nodes(self) -> api.ListNodesResult:
        """Lists the nodes of the service."""
        return cast(api.ListNodesResult, await self._transport.send("listNodes"))

    async def drain_node(self, node: str) -> api.DrainNodeResult:
        """Moves all shards off a node, which takes none until it restarts."""
        answer = await self._transport.send("drainNode", {"node": node})
        return cast(api.DrainNodeResult, answer)

    def list_shards(
        self, *, limit: int = 1000, cursor: str | None = None, collection: str | None = None
    ) -> AsyncListing[api.ListShardsResult, api.Shard]:
        """Lists shards: where they are, and how far their copies have got.

        Args:
            limit: Maximum number of items per page.
            cursor: `nextCursor` of a page, to start at the page after it.
            collection: Id of a collection, or "<account>/<name>"; None: all collections.
        """
        return self._listing("listShards", "shards", cursor, limit=limit, collection=collection)

    async def move_shard(self, shard: str, node: str) -> api.MoveShardResult:
        """Gives a shard to another node.

        Args:
            shard: "<collection>.<index>"
            node: Node that takes the shard.
        """
        answer = await self._transport.send("moveShard", {"shard": shard}, body={"node": node})
        return cast(api.MoveShardResult, answer)

    def list_collections(
        self, *, limit: int = 1000, cursor: str | None = None
    ) -> AsyncListing[api.ListAllCollectionsResult, api.CollectionOfAccount]:
        """Lists the collections of all accounts.

        Args:
            limit: Maximum number of items per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listAllCollections", "collections", cursor, limit=limit)

    def list_anchors(
        self, *, limit: int = 1000, cursor: str | None = None, state: str | None = None
    ) -> AsyncListing[api.ListAllAnchorsResult, api.AnchorOverview]:
        """Lists what is on the ledger, and what waits.

        Args:
            limit: Maximum number of items per page.
            cursor: `nextCursor` of a page, to start at the page after it.
            state: "pending" or "halted"; None: all.
        """
        return self._listing("listAllAnchors", "anchors", cursor, limit=limit, state=state)

    def list_verifications(
        self, *, limit: int = 1000, cursor: str | None = None
    ) -> AsyncListing[api.ListAllVerificationsResult, api.VerificationOverview]:
        """Lists the background verifications of all accounts: running ones, then the newest.

        Args:
            limit: Maximum number of items per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listAllVerifications", "verifications", cursor, limit=limit)

    async def resume_anchoring(self, collection: str) -> None:
        """Accepts the content of a halted collection as right, and anchors it."""
        await self._transport.send("resumeAnchoring", {"collection": collection})

    async def start_backup(
        self, name: str | None = None, *, without_secrets: bool = False
    ) -> api.Backup:
        """Starts a backup in the service's folder for backups.

        Args:
            name: Name of the backup's folder; None: the time.
            without_secrets: Leaves out the keypair and the secret.
        """
        body = {
            **({} if name is None else {"name": name}),
            **given(withoutSecrets=without_secrets),
        }
        answer = await self._transport.send("startBackup", body=body)
        return cast(api.StartBackupResult, answer)["backup"]

    def list_backups(
        self, *, limit: int = 100, cursor: str | None = None
    ) -> AsyncListing[api.ListBackupsResult, api.Backup]:
        """Lists the backups by name, the last one first.

        Args:
            limit: Maximum number of items per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """
        return self._listing("listBackups", "backups", cursor, limit=limit)

    async def get_ledger(self, collection: str | None = None) -> api.Ledger:
        """Returns the ledger and its authority.

        Args:
            collection: A collection whose account on the ledger to add.
        """
        query = given(collection=collection)
        return cast(api.Ledger, await self._transport.send("getLedger", query=query))
