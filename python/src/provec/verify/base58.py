from __future__ import annotations

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def encode_base58(data: bytes) -> str:
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def decode_base58(text: str, size: int) -> bytes | None:
    """Returns the `size` bytes that the text encodes, or None for any other text."""
    number = 0
    # Eleven base58 digits can hold eight bytes.
    for char in text[: size * 11 // 8]:
        number = number * 58 + BASE58.find(char)
    data = (max(number, 0) % 256**size).to_bytes(size, "big")
    return data if encode_base58(data) == text else None
