"""A program that uses the earlier service's SDK for Python:
`python earlier-scenario.py <url> <key>`.
"""

import sys

from solvec import SolVec

URL, KEY = sys.argv[1:3]
memory = SolVec(api_key=KEY, api_url=f"{URL}/recall").collection("agent-memory", dimensions=3)

assert memory.upsert([]).upserted_count == 0
written = memory.upsert(
    [
        {"id": "a", "values": [1.0, 0.0, 0.0], "metadata": {"text": "first"}},
        {"id": "b", "values": [0.0, 1.0, 0.0]},
    ]
)
assert written.upserted_count == 2 and len(written.merkle_root) == 64
[match] = memory.query([1.0, 0.1, 0.0], top_k=1, include_values=True).matches
assert match.id == "a" and match.metadata == {"text": "first"} and match.values == [1.0, 0.0, 0.0]
assert [found.id for found in memory.query([1.0, 0.0, 0.0], filter={"text": "first"}).matches] == ["a"]
assert memory.fetch(["a", "none"])["vectors"]["a"]["score"] == 1
verdict = memory.verify()
assert verdict.verified and verdict.match and verdict.vector_count == 2, verdict
assert verdict.local_root == verdict.on_chain_root == written.merkle_root
stats = memory.inspector().stats()
assert stats.total_memories == 2 and stats.roots_match and stats.dimensions == 3
assert memory.inspector().inspect().total_matching == 2
assert memory.describe_index_stats().merkle_root == written.merkle_root
assert memory.delete(["a"]).deleted_count == 1
try:
    SolVec(api_key="pv_live_wrong", api_url=f"{URL}/recall").collection("agent-memory", dimensions=3).fetch(["b"])
except PermissionError:
    print("all")
