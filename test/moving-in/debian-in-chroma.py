"""Fills a collection of a Chroma server with real embeddings: port, name, count, folder."""

import itertools
import json
import sys

import chromadb
import numpy

port, name, count, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
with open(f"{folder}/manifest.json") as file:
    dimensions = json.load(file)["dims"]
vectors = numpy.fromfile(f"{folder}/base.f16", dtype=numpy.float16, count=count * dimensions)
vectors = vectors.reshape(count, dimensions).astype(numpy.float32)
with open(f"{folder}/meta.jsonl") as file:
    rows = [json.loads(line) for line in itertools.islice(file, count)]
client = chromadb.HttpClient(host="127.0.0.1", port=port)
collection = client.create_collection(name, configuration={"hnsw": {"space": "cosine"}})
for begin in range(0, count, 2_000):
    part = rows[begin : begin + 2_000]
    collection.add(
        ids=[row["id"] for row in part],
        embeddings=vectors[begin : begin + 2_000],
        # Chroma refuses empty lists.
        metadatas=[{key: value for key, value in row["metadata"].items() if value != []} for row in part],
        documents=[row["metadata"].get("summary", "é") for row in part],
    )
print(collection.count())
