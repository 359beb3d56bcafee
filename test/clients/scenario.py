"""A program that uses one version of Pinecone's client for Python, starting with an empty account:
`python scenario.py <major> <url> <key> <part>`. The part `write` leaves 9,900 vectors; `read` finds
them after a restart of the service; `end` removes everything. `full` is for an account whose plan
has no room for 200 vectors.
"""

import math
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from pinecone import Pinecone, ServerlessSpec

MAJOR, URL, KEY, PART = int(sys.argv[1]), *sys.argv[2:5]
DIMENSION, COUNT, BATCH = 8, 10_000, 200
# Time limit for a client to report a full plan, including its own retries.
TOLD_S = 20
NAME = f"python-{MAJOR}"

if PART == "read":
    os.environ["PINECONE_CONTROLLER_HOST"] = f"{URL}/pinecone"
    pinecone = Pinecone(api_key=KEY)
else:
    pinecone = Pinecone(api_key=KEY, host=f"{URL}/pinecone")


def id_of(at):
    return f"{'0' * 28}-{at:07}"


def vector_of(at):
    return [math.sin(at * (i + 1)) + 0.01 for i in range(DIMENSION)]


def record_of(at):
    return {"id": id_of(at), "values": vector_of(at), "metadata": {"n": at, "even": at % 2 == 0}}


def open_index():
    return pinecone.Index(host=pinecone.describe_index(NAME).host)


def tags_of_index():
    tags = pinecone.describe_index(NAME).tags
    return tags.to_dict() if MAJOR < 9 else dict(tags)


def raises(call, status, text="", name=""):
    try:
        call()
    except Exception as error:
        seen = getattr(error, "status", None) or getattr(error, "status_code", None)
        assert seen == status, (seen, status, error)
        assert text in str(error), str(error)
        assert type(error).__name__.startswith(name), type(error)
        return
    raise AssertionError("nothing was raised")


def create():
    spec = ServerlessSpec(cloud="aws", region="us-east-1")
    make = lambda: pinecone.create_index(
        name=NAME, dimension=DIMENSION, metric="cosine", spec=spec, tags={"made": "here", "other": "x"}
    )
    make()
    raises(make, 409, "already exists")
    model = pinecone.describe_index(NAME)
    assert model.status.ready
    assert tags_of_index() == {"made": "here", "other": "x"}, model.tags
    assert NAME in pinecone.list_indexes().names()


def configure():
    pinecone.configure_index(NAME, deletion_protection="enabled", tags={"other": "", "more": "y"})
    assert tags_of_index() == {"made": "here", "more": "y"}
    raises(lambda: pinecone.delete_index(NAME), 403, "protected from deletion")
    pinecone.configure_index(NAME, deletion_protection="disabled")


def upsert():
    index = open_index()
    batches = [[record_of(at) for at in range(first, first + BATCH)] for first in range(0, COUNT, BATCH)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda batch: index.upsert(vectors=batch), batches))
    index.upsert(vectors=[record_of(1), record_of(2)], namespace="second")
    stats = index.describe_index_stats()
    assert stats.total_vector_count == COUNT + 2
    counts = {name: summary.vector_count for name, summary in stats.namespaces.items()}
    assert counts == {"__default__": COUNT, "second": 2}, counts
    raises(lambda: index.upsert(vectors=[{"id": "x", "values": [1.0]}]), 400, "vectors[0].values has 1 number")


def query():
    index = open_index()
    ask = lambda **options: index.query(top_k=5, **options).matches
    nearest = ask(vector=vector_of(77), include_metadata=True, include_values=True)[0]
    assert nearest.id == id_of(77) and abs(nearest.score - 1) < 1e-6
    assert nearest.metadata == {"n": 77, "even": False} and len(nearest.values) == DIMENSION
    even = ask(id=id_of(77), filter={"even": {"$eq": True}, "n": {"$lt": 5_000}}, include_metadata=True)
    assert len(even) == 5 and all(match.metadata["even"] and match.metadata["n"] < 5_000 for match in even)
    zero = ask(vector=[0.0] * DIMENSION, filter={"n": {"$in": [3, 4]}})
    assert [match.score for match in zero] == [0, 0]
    assert not ask(vector=vector_of(1), namespace="unknown")


def fetch_and_list():
    index = open_index()
    ids = [id_of(at) for at in range(1_000)]
    vectors = index.fetch(ids=ids).vectors
    assert len(vectors) == 1_000 and vectors[id_of(7)].metadata == {"n": 7, "even": False}
    pages = list(index.list(prefix=f"{'0' * 28}-00001", limit=40))
    found = [getattr(item, "id", item) for page in pages for item in getattr(page, "vectors", page)]
    assert found == ids[100:200], found
    if MAJOR >= 8:
        matching = index.fetch_by_metadata(filter={"n": {"$gte": 9_990}}, limit=100).vectors
        assert sorted(matching) == [id_of(9_990 + at) for at in range(10)]


def update():
    index = open_index()
    index.update(id=id_of(5), set_metadata={"changed": True}, values=vector_of(6))
    assert index.fetch(ids=[id_of(5)]).vectors[id_of(5)].metadata == {"n": 5, "even": False, "changed": True}
    if MAJOR >= 8:
        index.update(filter={"n": {"$lt": 3}}, set_metadata={"first": True})
        assert len(index.query(vector=vector_of(1), top_k=10, filter={"first": True}).matches) == 3


def remove():
    index = open_index()
    index.delete(ids=[id_of(at) for at in range(50)])
    index.delete(filter={"n": {"$gte": 9_950}})
    raises(lambda: index.delete(delete_all=True, namespace="unknown"), 404)
    assert index.describe_index_stats().total_vector_count == COUNT - 100 + 2


def namespaces():
    index = open_index()
    pages = index.list_namespaces()
    found = [space.name for page in pages for space in ([page] if MAJOR < 9 else page.namespaces)]
    assert found == ["__default__", "second"], found
    assert int(index.describe_namespace(namespace="second").record_count) == 2
    index.delete_namespace(namespace="second")
    raises(lambda: index.describe_namespace(namespace="second"), 404)


def refusals():
    stranger = Pinecone(api_key="pv_live_wrong", host=f"{URL}/pinecone")
    raises(stranger.list_indexes, 401)
    raises(lambda: pinecone.describe_index("absent"), 404)


def read_again():
    index = open_index()
    assert index.describe_index_stats().namespaces["__default__"].vector_count == COUNT - 100
    assert index.query(vector=vector_of(4_321), top_k=1).matches[0].id == id_of(4_321)


def remove_all():
    index = open_index()
    index.delete(delete_all=True)
    assert index.describe_index_stats().total_vector_count == 0
    pinecone.delete_index(NAME)
    assert not pinecone.has_index(NAME)


def fill_up():
    index = open_index()
    records = [record_of(at) for at in range(COUNT)]
    started = time.monotonic()
    raises(lambda: index.upsert(vectors=records[:BATCH]), 403, "stored vectors", "Forbidden")
    if MAJOR < 9:
        raises(lambda: index.upsert(vectors=records, batch_size=BATCH), 403, "stored vectors", "Forbidden")
    else:
        response = index.upsert(vectors=records, batch_size=BATCH)
        assert response.failed_item_count == COUNT
        assert {type(failed.error).__name__ for failed in response.errors} == {"ForbiddenError"}
    assert time.monotonic() - started < TOLD_S


PARTS = {
    "write": [create, configure, upsert, query, fetch_and_list, update, remove, namespaces, refusals],
    "read": [read_again],
    "end": [remove_all],
    "full": [create, fill_up],
}
for step in PARTS[PART]:
    try:
        step()
    except Exception as error:
        raise RuntimeError(f"{NAME}, {PART}, {step.__name__}") from error
    print(step.__name__)
