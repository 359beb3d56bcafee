"""Calls every operation once on a real service."""

from __future__ import annotations

import inspect
import io
import json
from pathlib import Path

import httpx
import numpy
import pytest

import provec as package
from provec import Collection, Provec, ProvecOperator
from provec._wire import camel
from provec.verify.ledger import current_anchor

from .conftest import Service
from .until import until

RECORDS = [
    {"id": "a", "values": [1, 0, 0], "metadata": {"n": 1, "kind": "odd"}},
    {
        "id": "b/ü",
        "values": numpy.array([0, 1, 0], dtype=numpy.float32),
        "metadata": {"n": 2, "kind": "even"},
    },
    {"id": "c", "values": (0, 0, 1), "metadata": {"n": 3, "kind": "odd"}},
]


def test_collections(provec: Provec) -> None:
    made = provec.create_collection("py-notes", 3, metric="cosine", tags={"of": "me"})
    assert (made["name"], made["dimensions"], made["tags"]) == ("py-notes", 3, {"of": "me"})
    notes = provec.collection("py-notes")
    assert notes.describe()["id"] == made["id"]
    assert notes.configure(deletion_protection=True)["deletionProtection"] is True
    with pytest.raises(package.ForbiddenError) as refused:
        provec.delete_collection("py-notes")
    assert (refused.value.code, refused.value.status) == ("FORBIDDEN", 403)
    notes.configure(deletion_protection=False)
    provec.create_collection(
        "py-other", 3, shards=2, replicas=0, quantization="f32", deletion_protection=False
    )
    assert {"py-notes", "py-other"} <= {found["name"] for found in provec.list_collections(limit=1)}
    assert len(provec.list_collections(limit=1).page()["collections"]) == 1
    provec.delete_collection("py-other")
    with pytest.raises(package.NotFoundError):
        provec.collection("py-other").describe()


def test_get_or_create(provec: Provec) -> None:
    made = provec.get_or_create("py-once", 3, metric="dot", shards=2)
    assert (made["metric"], made["shards"]) == ("dot", 2)
    assert provec.get_or_create("py-once", 3)["id"] == made["id"]
    assert provec.get_or_create("py-once", 3, metric="dot", shards=2)["id"] == made["id"]
    with pytest.raises(package.ConflictError, match="py-once exists with dimensions 3, not 4"):
        provec.get_or_create("py-once", 4)
    with pytest.raises(package.ConflictError, match="with metric dot, not cosine"):
        provec.get_or_create("py-once", 3, metric="cosine")
    provec.put_alias("py-other", "py-once")
    with pytest.raises(package.ConflictError, match="alias of the collection py-once"):
        provec.get_or_create("py-other", 3)
    with pytest.raises(package.BadRequestError):
        provec.get_or_create("-", 3)
    provec.delete_alias("py-other")
    provec.delete_collection("py-once")


def test_records(provec: Provec) -> None:
    notes = provec.collection("py-notes")
    assert notes.upsert(RECORDS)["upsertedCount"] == 3
    notes.upsert(RECORDS[:1], namespace="second")
    vector = numpy.array([0.1, 0.9, 0])
    [match] = notes.query(vector=vector, top_k=1, filter={"n": {"$gte": 2}}, include_values=True)[
        "matches"
    ]
    assert (match["id"], match["metadata"], match["values"]) == (
        "b/ü",
        {"n": 2, "kind": "even"},
        [0, 1, 0],
    )
    results = notes.query_many([{"vector": vector, "topK": 1}, {"id": "c", "topK": 1}])
    assert [result["matches"][0]["id"] for result in results] == ["b/ü", "c"]
    assert list(notes.fetch(["a", "none"])) == ["a"]
    assert notes.count(filter={"kind": "odd"}) == 2
    assert notes.facets("kind")["values"] == [
        {"value": "odd", "count": 2},
        {"value": "even", "count": 1},
    ]
    assert [record["id"] for record in notes.list(limit=2)] == ["a", "b/ü", "c"]
    assert [len(page["records"]) for page in notes.list(limit=2).pages()] == [2, 1]
    changed = notes.update([{"id": "c", "values": numpy.array([0, 1, 1]), "setMetadata": {"x": 1}}])
    assert (changed["matchedCount"], changed["updatedCount"]) == (1, 1)
    assert notes.update(filter={"x": 1}, unset_metadata=["x"], dry_run=True)["matchedCount"] == 1
    assert notes.delete(["a"])["deletedCount"] == 1


def test_namespaces(provec: Provec) -> None:
    notes = provec.collection("py-notes")
    notes.upsert(RECORDS[:1], namespace="..")
    assert [found["name"] for found in notes.list_namespaces(limit=1)] == ["", "..", "second"]
    assert notes.delete_namespace("second")["deletedCount"] == 1
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="in a path"):
            notes.delete_namespace(name)
        with pytest.raises(ValueError, match="in a path"):
            provec.delete_collection(name)
    assert notes.delete(all=True, namespace="..")["deletedCount"] == 1
    assert notes.count() == 2


def test_proofs(provec: Provec, service: Service) -> None:
    notes = provec.collection("py-notes")
    until(lambda: notes.describe()["anchor"]["status"] == "confirmed")
    trusted = {
        "authority": service.authority,
        "collection_id": notes.describe()["id"],
        "rpc_url": service.rpc_url,
    }
    record = {"id": "b/ü", "values": [0, 1, 0], "metadata": {"n": 2, "kind": "even"}}
    proof = notes.proof("b/ü")
    outcome, anchor = package.verify_on_ledger(proof, **record, **trusted)
    assert (outcome, anchor.vector_count, anchor.merkle_root) == ("present", 2, proof["merkleRoot"])
    with pytest.raises(package.VerificationError) as refused:
        package.verify_on_ledger(proof, **{**record, "values": [0, 1, 1]}, **trusted)
    assert refused.value.reason == "wrong-content"
    assert package.verify_on_ledger(notes.proof("a"), id="a", **trusted)[0] == "absent"
    for rpc_url in ("http://127.0.0.1:1/?key=secret", "http://[::1", "http://me:secret@x", "x\n"):
        with pytest.raises(package.LedgerError) as unreachable:
            package.verify_on_ledger(proof, **{**trusted, "rpc_url": rpc_url})
        assert "secret" not in str(unreachable.value)
    for authority in ("", "O" * 32, "z" * 44):
        with pytest.raises(package.VerificationError, match="authority"):
            package.verify_on_ledger(proof, **{**trusted, "authority": authority})
    assert anchor.transaction is None
    notes.upsert([{"id": "later", "values": [0, 0, 1]}])
    until(lambda: notes.describe()["anchor"]["status"] == "confirmed")
    outcome, now = package.verify_on_ledger(proof, **record, **trusted)
    assert (outcome, now.version) == ("present", anchor.version + 1)
    assert now.transaction is not None
    assert now.transaction.signature == proof["ledgerTx"]
    newest = notes.proof("later")
    for other in (newest["ledgerTx"], "1" * 64):
        with pytest.raises(package.VerificationError):
            package.verify_on_ledger({**proof, "ledgerTx": other}, **trusted)
    pending = {**proof, "ledgerTx": None}
    with pytest.raises(package.VerificationError, match="was pending when the proof was fetched"):
        package.verify_on_ledger(pending, **trusted)
    with pytest.raises(package.VerificationError, match="of version 0, before the first write"):
        package.verify_on_ledger({**pending, "version": 0}, **trusted)
    with pytest.raises(package.VerificationError, match="check it again when the ledger holds"):
        package.verify_on_ledger({**pending, "version": now.version + 1}, **trusted)
    assert package.verify_on_ledger({**newest, "ledgerTx": None}, **trusted)[0] == "present"
    pins = (trusted["authority"], trusted["collection_id"])
    for absent, why in ((pending, "no root of the collection was"), (proof, "was deleted, which")):
        with pytest.raises(package.VerificationError, match=why):
            current_anchor(None, absent, *pins)
    assert notes.delete(["later"])["deletedCount"] == 1
    until(lambda: notes.describe()["anchor"]["status"] == "confirmed")
    proof = notes.proof("b/ü")
    assert notes.verify()["state"] == "match"
    begun = notes.start_verification()
    until(lambda: notes.get_verification(begun["id"])["state"] == "done")
    assert next(iter(notes.list_anchors(limit=1)))["merkleRoot"] == proof["merkleRoot"]
    assert notes.memory()["shards"][0]["state"] == "open"
    link = notes.create_audit_link(label="auditors", expires_at="2099-01-01T00:00:00Z")
    audit = provec.get_audit(link["token"], limit=1)
    assert (audit["label"], audit["merkleRoot"]) == ("auditors", proof["merkleRoot"])
    assert [each["id"] for each in notes.list_audit_links()] == [link["id"]]
    notes.revoke_audit_link(link["id"])
    with pytest.raises(package.NotFoundError):
        provec.get_audit(link["token"])


def imported(provec: Provec, name: str, source: object) -> str:
    provec.create_collection(name, 3)
    copied = provec.collection(name).import_records(source)  # type: ignore[arg-type]
    assert copied["importedCount"] == 2
    provec.delete_collection(name)
    return copied["merkleRoot"]


def test_export_and_import(provec: Provec, tmp_path: Path) -> None:
    notes = provec.collection("py-notes")
    root = notes.describe()["merkleRoot"]
    lines = list(notes.export_lines())
    assert package.verify_export(lines).merkle_root == root
    records = list(notes.export())
    assert sorted(record["metadata"]["n"] for record in records) == [2, 3]
    kept = tmp_path / "notes.ndjson"
    kept.write_text("\n".join(lines) + "\n")
    sources = [
        lines,
        iter(records),
        kept,
        kept.read_bytes(),
        kept.open("rb"),
        io.BytesIO(kept.read_bytes()),
    ]
    for at, source in enumerate(sources):
        assert imported(provec, f"py-copy-{at}", source) == root


def test_refused_import(provec: Provec) -> None:
    wrong = ({"id": f"r{at}", "values": [1] if at == 7 else [1, 2, 3]} for at in range(50_000))
    with pytest.raises(package.BadRequestError, match=r"(?i)line 8") as refused:
        provec.collection("py-notes").import_records(wrong)
    assert refused.value.code == "DIMENSION_MISMATCH"

    def failing() -> object:
        yield {"id": "first", "values": [1, 2, 3]}
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        provec.collection("py-notes").import_records(failing())  # type: ignore[arg-type]


def test_aliases(provec: Provec) -> None:
    assert provec.put_alias("py-now", "py-notes") == {"alias": "py-now", "collection": "py-notes"}
    assert provec.get_alias("py-now")["collection"] == "py-notes"
    assert provec.collection("py-now").count() > 1
    assert "py-now" in [found["alias"] for found in provec.list_aliases()]
    provec.delete_alias("py-now")
    assert "py-now" not in [found["alias"] for found in provec.list_aliases()]


def test_keys_and_usage(provec: Provec, service: Service) -> None:
    key = provec.create_key("reader", scopes=["read"], expires_at="2099-01-01T00:00:00.000Z")
    assert key["expires_at"] == "2099-01-01T00:00:00.000Z"
    assert "reader" in [found["name"] for found in provec.list_keys(limit=1)]
    with Provec(service.url, key["secret"]) as reader:
        with pytest.raises(package.ForbiddenError):
            reader.create_collection("no", 1)
        provec.revoke_key(key["id"])

        def is_refused() -> bool:
            try:
                reader.get_usage()
            except package.UnauthenticatedError:
                return True
            return False

        until(is_refused)
    revoked = [entry.get("target") for entry in provec.list_audit_entries(limit=3)]
    assert key["id"] in revoked
    assert provec.get_usage()["usage"]["collection_count"] >= 1
    assert len(provec.get_daily_usage(days=2)) == 2


def test_operator(operator: ProvecOperator, service: Service) -> None:
    made = operator.create_account("guest", "free")
    with Provec(service.url, made["key"]["secret"]) as guest:
        assert list(guest.list_collections()) == []
    assert operator.change_plan(made["account"]["id"], "pro")["plan"] == "pro"
    assert [plan["vectors"] for plan in operator.list_plans()][3] is None
    account = made["account"]["id"]
    limits = {"vectors": 7, "writes": None, "queries": None, "collections": 1, "shards": 1}
    plan = operator.put_plan("py-guests", **limits, keys=3, anchoring=False)
    assert (plan["vectors"], plan["writes"], plan["source"]) == (7, None, "stored")
    operator.delete_plan("py-guests")
    assert account in [found["id"] for found in operator.list_accounts(usage=True)]
    assert operator.get_account(account)["usage"]["usage"]["key_count"] == 1
    replacement = operator.create_key(account, "replacement")
    operator.revoke_key(account, made["key"]["id"])
    assert [key["id"] for key in operator.list_keys(account)] == [replacement["id"]]
    operator.delete_account(account)
    deleted = [
        entry for entry in operator.list_audit_entries(limit=2) if entry.get("target") == account
    ]
    assert [entry["action"] for entry in deleted] == ["account.setPlan", "account.delete"]
    assert list(operator.list_audit_entries(account=account)) == []


def test_operator_of_a_cluster(operator: ProvecOperator) -> None:
    (node,) = operator.list_nodes()["shardNodes"]
    collection = next(each for each in operator.list_collections() if each["name"] == "py-notes")
    (shard,) = operator.list_shards(collection=collection["id"])
    assert (shard["shard"], shard["node"]) == (f"{collection['id']}.0", node["node"])
    assert collection["id"] in [each["collectionId"] for each in operator.list_anchors()]
    assert all(each["id"] for each in operator.list_verifications())
    ledger = operator.get_ledger(collection["id"])
    assert ledger["account"]["collectionId"] == collection["id"]
    for command in (
        lambda: operator.move_shard(shard["shard"], "elsewhere"),
        lambda: operator.drain_node("elsewhere"),
        lambda: operator.resume_anchoring(collection["id"]),
        lambda: operator.start_backup(),
        lambda: operator.list_backups().page(),
    ):
        with pytest.raises(package.BadRequestError):
            command()


def test_bad_arguments(provec: Provec) -> None:
    notes = provec.collection("py-notes")
    with pytest.raises(package.BadRequestError) as refused:
        notes.query(vector=[1, 0, 0], top_k=0)
    assert refused.value.details[0]["path"] == "topK"
    with pytest.raises(ValueError, match=r"^vector\[0\] is nan"):
        notes.query(vector=[float("nan"), 0, 0])
    with pytest.raises(TypeError, match="Path"):
        notes.import_records("notes.ndjson")
    with pytest.raises(TypeError):
        notes.upsert([{"id": "a", "values": [1, 2, 3], "metadata": {"x": object()}}])


def test_these_were_all(service: Service) -> None:
    assert service.unsent() == []


BODIES = {
    "CreateCollection": Provec.create_collection,
    "ChangeCollection": Collection.configure,
    "Upsert": Collection.upsert,
    "Query": Collection.query,
    "Queries": Collection.query_many,
    "Fetch": Collection.fetch,
    "Count": Collection.count,
    "Facets": Collection.facets,
    "List": Collection.list,
    "Update": Collection.update,
    "Delete": Collection.delete,
    "CreateKey": Provec.create_key,
    "CreateAuditLink": Collection.create_audit_link,
    "PutAlias": Provec.put_alias,
    "CreateAccount": ProvecOperator.create_account,
    "ChangePlan": ProvecOperator.change_plan,
    "PutPlan": ProvecOperator.put_plan,
    "MoveShard": ProvecOperator.move_shard,
    "StartBackup": ProvecOperator.start_backup,
}


def test_every_field_is_an_argument(service: Service) -> None:
    document = httpx.get(f"{service.url}/openapi.json").json()
    paths = [operation for methods in document["paths"].values() for operation in methods.values()]
    bodies = [
        json.dumps(operation["requestBody"]) for operation in paths if "requestBody" in operation
    ]
    for name, schema in document["components"]["schemas"].items():
        if any(f'/{name}"' in body for body in bodies) and name != "ExportLine":
            parameters = {camel(each) for each in inspect.signature(BODIES[name]).parameters} - {
                "self"
            }
            assert {camel(each) for each in schema["properties"]} <= parameters, name


@pytest.mark.parametrize("name", BODIES)
def test_every_argument_has_its_default_and_is_described(service: Service, name: str) -> None:
    schemas = httpx.get(f"{service.url}/openapi.json").json()["components"]["schemas"]
    fields = schemas[name]["properties"]
    defaults = {"expires_at": None, **{field: fields[field].get("default") for field in fields}}
    method = BODIES[name]
    for argument, parameter in list(inspect.signature(method).parameters.items())[1:]:
        default = defaults.get(argument, defaults.get(camel(argument)))
        if default is not None:
            assert parameter.default in (default, tuple(default) if argument == "scopes" else None)
        assert f"    {argument}: " in (method.__doc__ or "")
