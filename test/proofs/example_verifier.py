"""Results of examples/verify.py."""
import base64, os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import verify
from verify import Refused


def of_proof(proof, known, record=None, fetched=None):
    content = verify.check_proof(verify.parse(proof), **{"namespace": "", **known})
    if record is None and fetched is None:
        return "absent" if content is None else "present"
    expected = verify.parse(record) if fetched is None else verify.parse(fetched)["vectors"][known["id"]]
    verify.check(content == verify.content_hashes(expected), "the record is another, or absent")
    return "present"


def of_canonical(text):
    return verify.canonical(verify.parse(text))


def of_content(record):
    return [part.hex() for part in verify.content_hashes(verify.parse(record))]


def of_address(authority, collection):
    return verify.collection_address(authority, collection)


def of_account(owner, data, authority, collection):
    address = verify.collection_address(authority, collection)
    return verify.read_account(owner, base64.b64decode(data, validate=True), authority, address)


def of_transaction(transaction, authority, collection, signature, root, version):
    address = verify.collection_address(authority, collection)
    return verify.check_transaction(verify.parse(transaction), authority, address, signature, root, version)


def of_ledger(rpc, authority, collection, seconds=15):
    verify.SECONDS_MAX = seconds
    address = verify.collection_address(authority, collection)
    return verify.read_account(*verify.fetch_account(rpc, address), authority, address)


def of_signature(publicKey, signature, message):
    return verify.is_signed(*map(bytes.fromhex, (message, signature, publicKey)))
