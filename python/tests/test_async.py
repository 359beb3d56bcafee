"""Tests the methods with `await`. `_sync` is generated from them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import provec as package
from provec import AsyncProvec

from .conftest import Service


def test_in_the_event_loop(service: Service) -> None:
    async def run() -> None:
        async with AsyncProvec(service.url, service.key) as provec:
            made = await provec.create_collection("py-async", 2)
            notes = provec.collection("py-async")

            async def source() -> AsyncIterator[dict[str, object]]:
                for at in range(3_000):
                    yield {"id": f"r{at}", "values": [1, at], "metadata": {"at": at}}

            assert (await notes.import_records(source()))["importedCount"] == 3_000
            found = await asyncio.gather(*(notes.query(id=f"r{at}", top_k=1) for at in range(50)))
            assert [answer["matches"][0]["id"] for answer in found] == [
                f"r{at}" for at in range(50)
            ]
            assert [record["id"] async for record in notes.list(prefix="r299", limit=3)] == [
                "r299", *(f"r299{at}" for at in range(10))
            ]  # fmt: skip
            assert len([record async for record in notes.export()]) == 3_000
            verified = await package.verify_export_async(notes.export_lines())
            assert verified.collection_id == made["id"]
            lines = [line async for line in notes.export_lines()]
            copy = await provec.create_collection("py-async-copy", 2)
            assert (await provec.collection(copy["name"]).import_records(lines))[
                "importedCount"
            ] == 3_000
            with pytest.raises(package.NotFoundError):
                await provec.collection("py-absent").describe()
            while (await notes.describe())["anchor"]["status"] != "confirmed":
                await asyncio.sleep(0.02)
            outcome, _ = await package.verify_on_ledger_async(
                await notes.proof("r7"),
                id="r7",
                values=[1, 7],
                authority=service.authority,
                collection_id=made["id"],
                rpc_url=service.rpc_url,
            )
            assert outcome == "present"

    asyncio.run(run())


def test_a_cancelled_task_ends_its_request() -> None:
    async def run() -> None:
        arrived, closed = asyncio.Event(), asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            arrived.set()
            await reader.read()
            writer.close()
            closed.set()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, AsyncProvec(f"http://127.0.0.1:{port}", "k") as provec:
            task = asyncio.create_task(provec.get_usage())
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await closed.wait()

    asyncio.run(asyncio.wait_for(run(), timeout=60))


def test_both_are_one() -> None:
    tool = Path(__file__).parent.parent / "tools" / "unasync.py"
    assert subprocess.run([sys.executable, tool, "--check"], check=False).returncode == 0
