"""Settings of a program do not change any number that the package writes, reads or hashes."""

from __future__ import annotations

import ctypes
import decimal
import json
import json.encoder
import locale
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from provec import VerificationError, root_of_records, verify_export, verify_proof
from provec._errors import error_of
from provec._json import json_of
from provec._wire import answer_of
from provec.verify.content import EMPTY, key_hash, leaf_hash, meta_hash, vec_hash
from provec.verify.json_text import canonical, parse
from provec.verify.shape import PARTS

NUMBERS = {
    1234567.12: "1234567.12",
    0.1 + 0.2: "0.30000000000000004",
    1e21: "1e+21",
    123456789012345680000.0: "123456789012345680000",
    1e-7: "1e-7",
    0.000001: "0.000001",
    -1.5e-9: "-1.5e-9",
    -0.0: "0",
    5e-324: "5e-324",
    1.7976931348623157e308: "1.7976931348623157e+308",
    2**53 + 1: "9007199254740992",
    10**22: "1e+22",
}
METADATA = {"price": 1234567.12, "tiny": 1.5e-9, "text": "ü\u2028", "list": [1, 0.1, None, True]}
#: The small ones are subnormal as float32.
VALUES = [0.1, 1e-40, 2**-126 - 2**-151, -1e-45, 16777217]


@contextmanager
def decimal_context() -> Iterator[None]:
    with decimal.localcontext() as context:
        context.prec = 3
        context.rounding = decimal.ROUND_UP
        context.Emax, context.Emin = 5, -5
        context.traps[decimal.Inexact] = True
        yield


@contextmanager
def patched_json() -> Iterator[None]:
    """Replaces parts of `json`, like programs that use Decimal everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        read, write = json.loads, json.dumps
        patch.setattr(json, "loads", lambda text, **_: read(text, parse_float=decimal.Decimal))
        patch.setattr(json, "dumps", lambda value, **_: write(value, indent=1))
        patch.setattr(json.JSONEncoder, "default", lambda _, value: "0")
        patch.setattr(json.encoder, "c_make_encoder", None)
        yield


@contextmanager
def few_digits() -> Iterator[None]:
    if not hasattr(sys, "set_int_max_str_digits"):
        pytest.skip("requires Python 3.11")
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


@contextmanager
def comma_locale() -> Iterator[None]:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    yield
    locale.setlocale(locale.LC_ALL, before)


@contextmanager
def flushed_subnormals() -> Iterator[None]:
    """Sets the processor to the state that shared libraries built with -ffast-math leave."""
    if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        pytest.skip("requires x86-64 and glibc")
    libm, control_at = ctypes.CDLL("libm.so.6"), 28
    environment = ctypes.create_string_buffer(32)
    libm.fegetenv(environment)
    before = environment.raw
    control = int.from_bytes(before[control_at:], "little") | 0x8040
    changed = before[:control_at] + control.to_bytes(4, "little")
    libm.fesetenv(ctypes.create_string_buffer(changed, 32))
    yield
    libm.fesetenv(ctypes.create_string_buffer(before, 32))


STATES = [decimal_context, patched_json, few_digits, comma_locale, flushed_subnormals]


def written() -> list[Any]:
    """Returns all results of the package that depend on numbers."""
    answer = answer_of("countRecords", 200, b'{"score": 0.30000000000000004, "count": 12}')
    refusal = error_of(503, None, b'{"error": "x", "code": "y", "retryAfterSeconds": 1.5}')
    return [
        [canonical(number) for number, text in NUMBERS.items() if text != "5e-324"],
        canonical(parse('{"b": 1234567.12, "a": [1e400]}')["b"]),
        meta_hash(METADATA),
        vec_hash(VALUES),
        json_of({"values": VALUES, "metadata": METADATA}),
        [(type(value), value) for value in answer.values()],
        (type(refusal.retry_after), refusal.retry_after),
    ]


PLAIN = written()


def test_numbers_are_written_as_ecmascript_does() -> None:
    assert {number: canonical(number) for number in NUMBERS} == NUMBERS


@pytest.mark.parametrize("state", STATES)
def test_numbers_do_not_depend_on(state: Callable[[], Any]) -> None:
    with ExitStack() as entered:
        entered.enter_context(state())
        found = written()
    assert found == PLAIN


@pytest.mark.parametrize("state", STATES)
def test_other_content_is_refused_under(state: Callable[[], Any]) -> None:
    key = key_hash("a")
    leaf = [key, vec_hash(VALUES), meta_hash(METADATA)]
    root = leaf_hash(*leaf).hex()
    proof = {
        "format": "PV1",
        "id": "a",
        "present": True,
        "merkleRoot": root,
        "version": 1,
        "collectionId": "11111111-2222-4333-8444-555555555555",
        "ledgerAddress": None,
        "siblings": [],
        "terminal": dict(zip(PARTS, (part.hex() for part in leaf), strict=True)),
    }
    with ExitStack() as entered:
        entered.enter_context(state())
        assert verify_proof(root, proof, id="a", values=VALUES, metadata=METADATA) == "present"
        for price in (1234567.0, 1234567.1, 1230000, 1234567.1200000003):
            with pytest.raises(VerificationError, match="other metadata"):
                verify_proof(root, proof, metadata={**METADATA, "price": price})
        for at in range(1, 4):
            other = [0.0 if place == at else value for place, value in enumerate(VALUES)]
            with pytest.raises(VerificationError, match="other values"):
                verify_proof(root, proof, values=other)
    assert EMPTY.hex() != root


@pytest.mark.parametrize("metadata", [{"n": 10**400}, {1: "x"}, {"n": decimal.Decimal(1)}])
def test_what_no_metadata_is(metadata: Any) -> None:
    with patched_json(), pytest.raises((TypeError, ValueError)):
        root_of_records([{"id": "a", "values": [1], "metadata": metadata}])


def test_an_export_is_read_the_same_way() -> None:
    root = root_of_records([{"id": "a", "values": [0.1], "metadata": METADATA}])
    head = {
        "collectionId": "11111111-2222-4333-8444-555555555555",
        "version": 1,
        "merkleRoot": root,
        "vectorCount": 1,
    }
    lines = [
        json.dumps({"export": head}),
        json.dumps({"id": "a", "values": [0.1], "metadata": METADATA}),
        json.dumps({"end": {"count": 1, "merkleRoot": root}}),
    ]
    with patched_json(), decimal_context():
        assert verify_export(lines).merkle_root == root
        with pytest.raises(VerificationError):
            verify_export([lines[0], lines[1].replace("1234567.12", "1234567.0"), lines[2]])
