#!/usr/bin/env python3
"""Checks a Provec proof against the ledger as docs/format.md specifies, using only Python's
standard library (3.9).

  verify.py proof.json --record record.json --collection UUID --authority ADDRESS --rpc URL
  verify.py proof.json --absent ID          --collection UUID --authority ADDRESS --rpc URL
  verify.py proof.json (--record record.json | --absent ID) --root HEX

The last form checks against a root that you trust, without the ledger. record.json is {"id",
"values", "metadata", "namespace"?} as written or fetched; with --absent, --namespace NAME names
the namespace. Prints one line and exits with 0: proven; 1: not proven; 2: wrong arguments, or
something could not be read.
"""
import argparse, base64, datetime, hashlib, http.client, io, itertools, json, math, queue, re, struct, sys, threading
from urllib.parse import urlsplit

EMPTY = bytes(32)
WHOLE_MAX = 2**53 - 1
LEVELS_MAX = 64
ANSWER_MAX_BYTES = 256 * 1024
SECONDS_MAX = 15
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111"
UPDATE_FIELD = bytes.fromhex("dde9312db5cadcc8") + b"\3"
FIELDS = {"merkleRoot", "version", "vectorCount", "decisions"}
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
PARTS = ("key", "vecHash", "metaHash")


class Refused(Exception):
    """Not proven. Any other exception means that the proof could not be checked."""


def check(holds, why):
    if not holds:
        raise Refused(why)


def parse(text):
    """JSON in which every number is a double, as in ECMAScript."""
    brackets = re.sub(r'"(?:[^"\\]|\\.)*"|[^][{}]', "", text)
    if max(itertools.accumulate(1 if each in "[{" else -1 for each in brackets), default=0) > LEVELS_MAX:
        raise ValueError("JSON of more than %d levels" % LEVELS_MAX)
    return json.loads(text, parse_int=float, parse_constant=no_number)


def no_number(name):
    raise ValueError(name + " is not JSON")


def matches(pattern, value):
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def is_hash(value):
    return matches("[0-9a-f]{64}", value)


def is_uuid(value):
    return matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value)


def is_base64(value):
    return matches("[A-Za-z0-9+/]*={0,2}", value) and len(value) % 4 == 0


def is_whole(value, most):
    return isinstance(value, float) and value.is_integer() and 0 <= value <= most


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def encode_base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def decode_base58(text, size):
    """Returns the bytes, or None if the text does not encode exactly `size` bytes."""
    number = 0
    for char in text[:size * 11 // 8]:
        number = number * 58 + BASE58.find(char)
    data = (max(number, 0) % 256**size).to_bytes(size, "big")
    return data if encode_base58(data) == text else None


# 1. A record


def canonical_number(value):
    if not math.isfinite(value):
        raise ValueError("a number of the metadata is not finite")
    if value < 0:
        return "-" + canonical_number(-value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    n = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    k = len(digits)
    if k == 0:
        return "0"
    if 0 < n <= 21:
        return digits + "0" * (n - k) if k <= n else digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return "0." + "0" * -n + digits
    return digits[0] + ("." + digits[1:] if k > 1 else "") + "e%+d" % (n - 1)


def canonical(value):
    """Returns the canonical JSON of a value that `parse` returned."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(canonical(key) + ":" + canonical(item) for key, item in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return canonical_number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def content_hashes(record):
    """Returns (vecHash, metaHash) of {"id", "values", "metadata"?, "namespace"?}. Raises an error
    other than Refused for anything that is not a record."""
    if not {"id", "values"} <= set(record) <= {"id", "namespace", "values", "metadata"}:
        raise ValueError("a record has id, namespace, values and metadata, and nothing else")
    values, metadata = record["values"], record.get("metadata", {})
    if not isinstance(values, list) or not values or not all(isinstance(value, float) for value in values):
        raise ValueError("values must be a list of at least one number")
    if not isinstance(metadata, dict):
        raise ValueError("metadata must be an object")
    layout = "<%df" % len(values)
    singles = struct.unpack(layout, struct.pack(layout, *values))  # OverflowError when a value rounds to infinity
    if not all(map(math.isfinite, singles)):
        raise ValueError("a value is not finite")
    vector = struct.pack("<BI", 1, len(values)) + struct.pack(layout, *(single + 0.0 for single in singles))
    return sha256(b"PV1vec\0", vector), sha256(b"PV1met\0", canonical(metadata).encode())


# 4. Checking a proof

SHAPE = {
    "format": lambda value: value == "PV1",
    "id": lambda value: isinstance(value, str) and not value.startswith("\0"),
    "namespace": lambda value: isinstance(value, str) and "\0" not in value and len(value.encode("utf-8", "surrogatepass")) <= 512,
    "present": lambda value: isinstance(value, bool),
    "merkleRoot": is_hash,
    "version": lambda value: is_whole(value, WHOLE_MAX),
    "collectionId": is_uuid,
    "ledgerAddress": lambda value: value is None or isinstance(value, str),
    "siblings": lambda value: isinstance(value, list) and len(value) <= 256 and all(map(is_hash, value)),
    "ledgerTx": lambda value: value is None or isinstance(value, str) and decode_base58(value, 64) is not None,
    "terminal": lambda value: value is None or isinstance(value, dict) and all(is_hash(value.get(part)) for part in PARTS),
}


def bit(key, depth):
    return key[depth // 8] >> (7 - depth % 8) & 1


def checked(proof):
    """Returns the proof if every field is present and has the right shape."""
    proof = {"namespace": "", "ledgerTx": None, **proof} if isinstance(proof, dict) else proof
    for field, is_sound in SHAPE.items():
        check(isinstance(proof, dict) and field in proof and is_sound(proof[field]), field + " is malformed")
    return proof


def check_proof(proof, **known):
    """Returns (vecHash, metaHash) of the record known["id"] under known["merkleRoot"], or None if
    the record is absent."""
    proof = checked(proof)
    for field, value in known.items():
        check(proof[field] == value, "%s is %a, not %a" % (field, proof[field], value))
    name, namespace = known["id"].encode(), known["namespace"].encode()
    check(0 < len(name) <= 512, "id is not of 1 to 512 bytes")
    name = b"\0" + namespace + b"\0" + name if namespace else name
    key, siblings = sha256(b"PV1key\0", name), [bytes.fromhex(sibling) for sibling in proof["siblings"]]
    check(not siblings or siblings[-1] != EMPTY, "the path continues below one record or none")
    current, content = EMPTY, None
    if proof["terminal"] is not None:
        end_key, *hashes = [bytes.fromhex(proof["terminal"][part]) for part in PARTS]
        beside = any(bit(end_key, depth) != bit(key, depth) for depth in range(len(siblings)))
        check(not beside, "the path ends at a record beside it")
        current, content = sha256(b"\0", end_key, *hashes), tuple(hashes) if end_key == key else None
    for depth in reversed(range(len(siblings))):
        pair = (siblings[depth], current) if bit(key, depth) else (current, siblings[depth])
        current = sha256(b"\1", *pair)
    check(current.hex() == known["merkleRoot"], "the path does not lead to the root")
    check(proof["present"] == (content is not None), "the proof shows the opposite of what it claims")
    return content


# 5. The address


def decode_address(text):
    data = decode_base58(text, 32)
    if data is None:
        raise ValueError("no address: " + text)
    return data


def collection_address(authority, collection):
    if not is_uuid(collection):
        raise ValueError("--collection must be a UUID in lower case")
    digest = sha256(b"PV1col\0", bytes.fromhex(collection.replace("-", "")))
    seed = base64.urlsafe_b64encode(digest[:24])
    return encode_base58(sha256(decode_address(authority), seed, decode_address(TOKEN_2022)))


# 6. The account


def take(stream, size):
    data = stream.read(size)
    check(len(data) == size, "the bytes end too early")
    return data


def take_number(stream, size):
    return int.from_bytes(take(stream, size), "little")


def take_text(stream):
    try:
        return take(stream, take_number(stream, 4)).decode()
    except UnicodeDecodeError:
        raise Refused("a text is not UTF-8") from None


def read_account(owner, data, authority, address):
    """Returns the account's (root, version, number of records, number of decisions)."""
    check(owner == TOKEN_2022, "the account is not Token-2022's")
    check(166 <= len(data) <= 1024, "the account has a wrong size")
    check(data[165] == 1 and data[45] == 1 and not any(data[82:165]), "the account is no mint")
    stream, entries, fields = io.BytesIO(data[166:]), {}, {}
    while any(kind := stream.read(2)):
        check(kind not in entries, "an extension occurs twice")
        entries[kind] = take(stream, take_number(stream, 2))
    check(not any(stream.read()), "bytes are left over behind the extensions")
    check(b"\x13\0" in entries, "the mint has no metadata")
    stream = io.BytesIO(entries[b"\x13\0"])
    check(take(stream, 32) == decode_address(authority), "somebody else may write the account")
    check(take(stream, 32) == decode_address(address), "the metadata is another mint's")
    for _ in ("name", "symbol", "uri"):
        take_text(stream)
    for _ in range(take_number(stream, 4)):
        field = take_text(stream)
        check(field not in fields, "a field occurs twice")
        fields[field] = take_text(stream)
    check(not stream.read(), "bytes are left over behind the metadata")
    check(is_hash(fields.get("merkleRoot")), "the account has no root")
    numbers = [fields.get(name) for name in ("version", "vectorCount", "decisions")]
    check(all(matches("[0-9]{20}", digits) and int(digits) <= WHOLE_MAX for digits in numbers), "a number is not 20 digits")
    return (fields["merkleRoot"], *map(int, numbers))


def ask(url, method, *params):
    """Calls an RPC method of a ledger node and returns its result."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("--rpc must be an http or https URL without a user name")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    answers = queue.Queue()
    # A timeout of a socket bounds one read, and a node can draw its answer out over any number.
    threading.Thread(target=exchange, args=(parts, body, answers), daemon=True).start()
    try:
        data = answers.get(timeout=SECONDS_MAX)
    except queue.Empty:
        raise ValueError("%s did not answer within %g s" % (parts.hostname, SECONDS_MAX)) from None
    if isinstance(data, Exception):
        raise data
    answer = parse(data.decode())
    if not isinstance(answer, dict) or answer.get("error") is not None or "result" not in answer:
        raise ValueError("the node answers no %s: %a" % (method, answer))
    return answer["result"]


def exchange(parts, body, answers):
    """Puts the bytes of the answer into the queue, or an exception."""
    Connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = Connection(parts.hostname, parts.port, timeout=SECONDS_MAX)  # follows no redirect
        path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read(ANSWER_MAX_BYTES)
        if response.length or response.read(1) or not 200 <= response.status < 300:
            raise ValueError("%s answered with HTTP status %d, %d bytes" % (parts.hostname, response.status, len(data)))
        answers.put(data)
    except (OSError, http.client.HTTPException) as error:  # whose text may hold the URL, and a key in it
        answers.put(ValueError("%s could not be asked: %s" % (parts.hostname, type(error).__name__)))
    except Exception as error:
        answers.put(error)


def fetch_account(url, address):
    """Returns the account's (owner, bytes), or None if it does not exist."""
    value = ask(url, "getAccountInfo", address, {"encoding": "base64", "commitment": "confirmed"})["value"]
    if value is None:
        return None
    owner, (data, encoding) = value["owner"], value["data"][:2]
    if encoding != "base64" or not is_base64(data) or not isinstance(owner, str):
        raise ValueError("the node answers no account in base64")
    return owner, base64.b64decode(data)


# 7. The transaction


def fetch_transaction(url, signature):
    """Returns the node's response, or None if it has no such final transaction."""
    options = {"encoding": "base64", "commitment": "finalized", "maxSupportedTransactionVersion": 0}
    return ask(url, "getTransaction", signature, options)


def check_transaction(answer, authority, address, signature, root, version):
    """Returns the time, in words, when the transaction wrote this root and version."""
    check(answer is not None, "there is no finalized transaction " + signature)
    check(isinstance(answer, dict) and is_whole(answer.get("slot"), WHOLE_MAX), "the transaction has no slot")
    time, meta, wire = (answer.get(name) for name in ("blockTime", "meta", "transaction"))
    check(time is None or is_whole(time, 253402300799), "blockTime is not a valid time")
    check(isinstance(meta, dict) and meta.get("err", "") is None, "the transaction failed")
    check(meta.get("innerInstructions") in (None, []), "programs called others in the transaction")
    is_encoded = isinstance(wire, list) and len(wire) > 1 and wire[1] == "base64"
    check(is_encoded and is_base64(wire[0]), "the transaction is not in base64")
    data = base64.b64decode(wire[0])
    check(len(data) <= 1232, "the transaction is too long")
    fields = read_transaction(io.BytesIO(data), authority, address, decode_base58(signature, 64))
    check(is_signed(data[65:], data[1:65], decode_address(authority)), "the signature is not the authority's")
    check(fields["merkleRoot"] == root and fields["version"] == "%020d" % version, "it wrote another root or version")
    if time is None:
        return "in slot %d" % answer["slot"]
    return datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def take_length(stream):
    length = take_number(stream, 1)
    check(length < 128, "a length takes more than one byte")
    return length


def read_transaction(stream, authority, address, signature):
    """Returns the fields of the account at `address` that it writes, if it does nothing else."""
    check(take_length(stream) == 1 and take(stream, 64) == signature, "it is another transaction")
    check(take(stream, 2) == b"\1\0", "it is not legacy, or not the authority alone signed it")
    take(stream, 1)
    addresses, fields = [encode_base58(take(stream, 32)) for _ in range(take_length(stream))], {}
    check(addresses[:1] == [authority], "another authority signed the transaction")
    take(stream, 32)
    for _ in range(take_length(stream)):
        indexes = take(stream, 1) + take(stream, take_length(stream))
        program, *accounts = [addresses[at] if at < len(addresses) else None for at in indexes]
        data = take(stream, take_length(stream))
        if program == COMPUTE_BUDGET:
            continue
        check(program == TOKEN_2022 and data.startswith(UPDATE_FIELD), "the transaction does something else")
        check(accounts == [address, authority], "it writes another account, or for another authority")
        field = io.BytesIO(data[len(UPDATE_FIELD):])
        name, value = take_text(field), take_text(field)
        check(not field.read() and name in FIELDS and name not in fields, "it writes a field twice, or another one")
        fields[name] = value
    check(not stream.read() and set(fields) == FIELDS, "it does not write all fields, or bytes are left over")
    return fields


# Ed25519 (RFC 8032), on points (x, y)

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ZERO = (0, 1)


def decode_point(data):
    """None for bytes that encode no point, or not in the one canonical way."""
    sign, y = divmod(int.from_bytes(data, "little"), 2**255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign == 1):
        return None
    return x if x % 2 == sign else P - x, y


def add(p, q):
    (x1, y1), (x2, y2) = p, q
    t = D * x1 * x2 * y1 * y2 % P
    inverse = pow(1 - t * t, -1, P)
    return (x1 * y2 + x2 * y1) * (1 - t) * inverse % P, (y1 * y2 + x1 * x2) * (1 + t) * inverse % P


def times(number, point):
    total = ZERO
    for digit in bin(number)[2:]:
        total = add(total, total)
        total = add(total, point) if digit == "1" else total
    return total


def is_signed(message, signature, public_key):
    key, s = decode_point(public_key), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= L or key is None or times(8, key) == ZERO:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % L
    x, y = add(times(s, decode_point(b"\x58" + b"\x66" * 31)), times(k, (P - key[0], key[1])))
    return times(8, (x, y)) != ZERO and (y + (x % 2 << 255)).to_bytes(32, "little") == signature[:32]


# 8. The whole check

DELETED = "the collection was deleted, which closes its account, or the node is of another cluster"
UNWRITTEN = "no root is anchored before the first write, so fetch it again"
PENDING = "its anchor was pending when it was fetched, so fetch it again"


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read())


def verdict_on(options):
    """Returns what is proven, as a sentence."""
    answer = read_json(options.proof)
    proof = answer["proof"] if isinstance(answer, dict) and "proof" in answer else answer
    known, expected = {"id": options.absent, "namespace": options.namespace or ""}, None
    past, said = "", "as given"
    if options.record is not None:
        record = read_json(options.record)
        known["id"], known["namespace"], expected = record["id"], record.get("namespace", ""), content_hashes(record)
    if options.collection is not None:
        known["collectionId"] = options.collection
    if options.root is None:
        address = collection_address(options.authority, options.collection)
        account, proof = fetch_account(options.rpc, address), checked(proof)
        why = "nothing was anchored so far, or it was deleted" if proof["ledgerTx"] is None else DELETED
        check(account is not None, "there is no account %s: %s" % (address, why))
        root, version, *_ = read_account(*account, options.authority, address)
        other = "collectionId is %a, not %a" % (proof["collectionId"], options.collection)
        check(proof["collectionId"] == options.collection, other)
        own = proof["merkleRoot"], proof["version"]
        said = "version %d on the ledger" % version
        if own != (root, version):
            held = "the ledger holds version %d%s, and the proof, of version %d, names no transaction: "
            why = PENDING if version != own[1] else "fetch it again when nothing is written"
            why = UNWRITTEN if own[1] == 0 else why
            another = " with another root" if version == own[1] else ""
            check(proof["ledgerTx"] is not None, held % (version, another, own[1]) + why)
            transaction = fetch_transaction(options.rpc, proof["ledgerTx"])
            when = check_transaction(transaction, options.authority, address, proof["ledgerTx"], *own)
            past = " at version %d, anchored %s; the collection is now at version %d" % (own[1], when, version)
            (root, version), said = own, "of the transaction " + proof["ledgerTx"]
        options.root, known["version"] = root, version
    content = check_proof(proof, **known, merkleRoot=options.root)
    check((content is None) == (expected is None), "the record is " + ("absent" if content is None else "present"))
    check(content == expected, "the record has other values or other metadata")
    verdict, detail = ("ABSENT", "") if content is None else ("PRESENT", ", with these values and metadata")
    name = json.dumps(known["id"]) + detail
    return "%s%s%s; root %s, %s" % (verdict, past + ": " if past else "  ", name, options.root, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proof")
    expected = parser.add_mutually_exclusive_group(required=True)
    expected.add_argument("--record")
    expected.add_argument("--absent", metavar="ID")
    for name in ("--namespace", "--root", "--collection", "--authority", "--rpc"):
        parser.add_argument(name)
    options = parser.parse_args()
    if options.namespace is not None and options.absent is None:
        parser.error("--namespace needs --absent; a record names its own namespace")
    ledger = (options.authority, options.rpc)
    if any(ledger) if options.root else not all((options.collection, *ledger)):
        parser.error("give --root, or all of --collection, --authority and --rpc")
    try:
        print(verdict_on(options))
    except Refused as refusal:
        print("NOT PROVEN  %s" % refusal)
        return 1
    except Exception as error:  # on any other error nothing was proven
        print("verify.py: %s: %a" % (type(error).__name__, str(error)), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
