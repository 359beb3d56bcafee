"""Results of the package `provec`, in the terms of example_verifier.py."""
import base64

from provec.verify import VerificationError as Refused
from provec.verify import collection_address, verify_account, verify_proof, verify_transaction
from provec.verify.content import meta_hash, vec_hash
from provec.verify.ed25519 import is_signed_by
from provec.verify.json_text import canonical, parse
from provec._json import json_in
from provec._sync import ledger


def of_proof(proof, known, record=None, fetched=None):
    proof, root, content = parse(proof), known["merkleRoot"], {}
    if record is not None or fetched is not None:
        expected = parse(record) if fetched is None else parse(fetched)["vectors"][known["id"]]
        content = {"values": expected["values"], "metadata": expected.get("metadata", {})}
    return verify_proof(root, proof, id=known["id"], namespace=known.get("namespace"), **content)


def of_canonical(text):
    return canonical(parse(text))


def of_content(record):
    whole = parse(record)
    return [vec_hash(whole["values"]).hex(), meta_hash(whole.get("metadata", {})).hex()]


def of_address(authority, collection):
    try:
        return collection_address(authority, collection)
    except Refused as refusal:
        raise ValueError(str(refusal)) from None


def of_account(owner, data, authority, collection):
    data = base64.b64decode(data, validate=True)
    return list(verify_account(owner, data, authority=authority, collection_id=collection))[:4]


def of_transaction(transaction, authority, collection, signature, root, version):
    found = verify_transaction(
        json_in(transaction.encode()),
        authority=authority,
        collection_id=collection,
        signature=signature,
        merkle_root=root,
        version=version,
    )
    return found.anchored_at or "in slot %d" % found.slot


def of_ledger(rpc, authority, collection, seconds=15):
    ledger.RPC_TIMEOUT = seconds
    owner, data = ledger.ledger_account(rpc, collection_address(authority, collection))
    return list(verify_account(owner, data, authority=authority, collection_id=collection))[:4]


def of_signature(publicKey, signature, message):
    return is_signed_by(*map(bytes.fromhex, (publicKey, signature, message)))
