"""The methods with `await` do the same; `_sync` is written from them."""

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
            lines = [line async for line in notes.export_lines()]
            assert package.verify_export(lines).collection_id == made["id"]
            copy = await provec.create_collection("py-async-copy", 2)
            assert (await provec.collection(copy["name"]).import_records(lines))[
                "importedCount"
            ] == 3_000
            with pytest.raises(package.NotFoundError):
                await provec.collection("py-absent").describe()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(notes.query(id="r1"), timeout=0)
            assert await notes.count() == 3_000

    asyncio.run(run())


def test_both_are_one() -> None:
    tool = Path(__file__).parent.parent / "tools" / "unasync.py"
    assert subprocess.run([sys.executable, tool, "--check"], check=False).returncode == 0
