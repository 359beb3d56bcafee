"""Fills a table of PostgreSQL with real embeddings: folder of the socket, table, count, folder."""

import itertools
import json
import sys

import numpy
import psycopg

host, table, count, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
with open(f"{folder}/manifest.json") as file:
    dimensions = json.load(file)["dims"]
vectors = numpy.fromfile(f"{folder}/base.f16", dtype=numpy.float16, count=count * dimensions)
vectors = vectors.reshape(count, dimensions).astype(numpy.float32)
with open(f"{folder}/meta.jsonl") as file:
    rows = [json.loads(line) for line in itertools.islice(file, count)]
with psycopg.connect(host=host, user="postgres", dbname="postgres") as connection:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(
        f"CREATE TABLE {table} (name text PRIMARY KEY, embedding vector({dimensions}), section text,"
        " metadata jsonb, written timestamptz DEFAULT '2026-01-02 03:04:05.123456+00', sparse sparsevec(4))"
    )
    with connection.cursor().copy(f"COPY {table} (name, embedding, metadata) FROM STDIN") as copy:
        for row, vector in zip(rows, vectors):
            text = "[" + ",".join(map(repr, map(float, vector))) + "]"
            copy.write_row((row["id"], text, json.dumps(row["metadata"])))
    connection.execute(f"UPDATE {table} SET sparse = '{{1:0.5}}/4' WHERE name = %s", (rows[0]["id"],))
    connection.execute(f"CREATE INDEX ON {table} USING hnsw (embedding vector_l2_ops)")
    connection.execute("CREATE TABLE halves (id bigint PRIMARY KEY, team text, v halfvec(2))")
    connection.execute("INSERT INTO halves VALUES (9007199254740993, 'a', '[1,0.5]'), (10, 'b', '[0.25,2]')")
print(count)
