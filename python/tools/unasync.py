"""Generates `provec/_sync` from `provec/_async`. With `--check`, only compares them, and exits with
1 if they differ."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "provec"
HEAD = "# Generated from _async by tools/unasync.py; edit that instead.\n"
RULES = [
    (r"Awaitable\[(\w+)\]", r"\1"),
    (r", Awaitable\b", ""),
    (r"AsyncIterable\[ImportedRecord\] \| ", ""),
    (r"from \.\._each import each\n", ""),
    (r"\beach\((\w+)\)", r"\1"),
    (r"AsyncIterable, AsyncIterator, Iterable", "Iterable, Iterator"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basyncio\b", "time"),
    (r"\bwithin_async\b", "within"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b(_?)Async(?=[A-Z])", r"\1"),
    (r"\b__a(iter|enter|exit)__", r"__\1__"),
    (r"\ba(close|iter_raw)\b", r"\1"),
]


def synchronous(text: str) -> str:
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return HEAD + text


def main() -> int:
    sources = {source.name for source in (PACKAGE / "_async").glob("*.py")}
    others = [target for target in (PACKAGE / "_sync").glob("*.py") if target.name not in sources]
    stale = [target.name for target in others]
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        target = PACKAGE / "_sync" / source.name
        text = synchronous(source.read_text())
        if "--check" not in sys.argv:
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            stale.append(target.name)
    if stale:
        print("not as tools/unasync.py writes them:", *stale)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
