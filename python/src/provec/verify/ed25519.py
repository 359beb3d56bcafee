"""Verifies Ed25519 signatures like the ledger's validators (`verify_strict`): RFC 8032, section
5.1.7, without the cofactor. Refuses values out of range and points of small order. Not constant
time, since all inputs are public."""

from __future__ import annotations

import hashlib

#: Extended coordinates: x = X / Z, y = Y / Z, T = X * Y / Z.
Point = tuple[int, int, int, int]

P = 2**255 - 19
#: Order of the base point.
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
ZERO: Point = (0, 1, 1, 0)
BASE_BYTES = bytes.fromhex("58" + "66" * 31)


def is_signed_by(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` (64 bytes) signs `message` with the key of `public_key` (32 bytes)."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    encoded_r, s = signature[:32], int.from_bytes(signature[32:], "little")
    base, key = _decode(BASE_BYTES), _decode(public_key)
    if base is None or key is None or _is_small(key) or s >= L:
        return False
    digest = hashlib.sha512(encoded_r + public_key + message).digest()
    k = int.from_bytes(digest, "little") % L
    x, y, z, t = key
    r = _sum_of_products(s, base, k, (P - x, y, z, P - t))
    return not _is_small(r) and _encode(r) == encoded_r


def _decode(data: bytes) -> Point | None:
    """Decodes a point; None if the bytes are not the canonical encoding of a point."""
    parity, y = divmod(int.from_bytes(data, "little"), 2**255)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    if (v * x * x + u) % P == 0:
        x = x * ROOT_OF_MINUS_ONE % P
    if (v * x * x - u) % P != 0 or (x == 0 and parity == 1):
        return None
    x = x if x % 2 == parity else P - x
    return x, y, 1, x * y % P


def _encode(point: Point) -> bytes:
    x, y, z, _ = point
    reciprocal = pow(z, -1, P)
    number = y * reciprocal % P + (x * reciprocal % P % 2 << 255)
    return number.to_bytes(32, "little")


def _add(p: Point, q: Point) -> Point:
    """Adds any two points of the curve, equal ones included (RFC 8032, section 5.1.4)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * D * p[3] * q[3], 2 * p[2] * q[2]
    e, f, g, h = (b - a) % P, (d - c) % P, (d + c) % P, (b + a) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def _is_small(point: Point) -> bool:
    """Whether the point has small order: eight times the point is zero."""
    for _ in range(3):
        point = _add(point, point)
    x, y, z, _ = point
    return x == 0 and y == z


def _sum_of_products(a: int, p: Point, b: int, q: Point) -> Point:
    """Returns a * p + b * q."""
    both, total = _add(p, q), ZERO
    for bit in reversed(range(L.bit_length())):
        total = _add(total, total)
        has_a, has_b = a >> bit & 1, b >> bit & 1
        if has_a or has_b:
            total = _add(total, both if has_a and has_b else p if has_a else q)
    return total
