import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { verifyAccount } from '../../../../../client/index.ts';
import { accountBytes, readAccount } from '../../../../../services/anchoring/ledger/collection-account.ts';
import type { LedgerClient } from '../../../../../services/anchoring/ledger/ledger-client.ts';
import { LedgerRelay } from '../../../../support/ledger-relay.ts';
import { until } from '../../../../support/until.ts';

const COLLECTION = '00112233-4455-6677-8899-aabbccddeeff';
const ROOT = { merkleRoot: 'ab'.repeat(32), version: 42, vectorCount: 7, decisions: 3 };
const INITIALIZED_AT = 45;
const EXTENSIONS_AT = 166;
const METADATA_TYPE = 19;

let relay: LedgerRelay;
let client: LedgerClient;
let address: string;
/** A real account, created by the real program. */
let owner: string;
let data: Buffer;

beforeAll(async () => {
  relay = await LedgerRelay.open();
  client = await relay.client('authority');
  address = await client.address(COLLECTION);
  await settled((await client.signCreate(COLLECTION)).wire);
  await settled((await client.signUpdate(COLLECTION, ROOT)).wire);
  const params = [address, { encoding: 'base64' }];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(relay.ledgerUrl, { method: 'POST', headers, body });
  const { result } = (await answer.json()) as { result: { value: { owner: string; data: [string] } } };
  owner = result.value.owner;
  data = Buffer.from(result.value.data[0], 'base64');
});
afterAll(() => relay.close());

const settled = (wire: string) => until('the ledger takes it', async () => (await client.send(wire)) === null);

/** How the service and the offline verifier parse these bytes; null for a refusal. */
function readings(bytes: Uint8Array) {
  const served = readAccount(bytes, owner, client.authority, address);
  let verified: ReturnType<typeof verifyAccount> | null = null;
  try {
    verified = verifyAccount(
      { address, owner, data: bytes },
      { authority: client.authority, collectionId: COLLECTION },
    );
  } catch {}
  return { served: served.status === 'found' ? served.fields : null, verified };
}

const reason = (bytes: Uint8Array) => readAccount(bytes, owner, client.authority, address);
const foreign = (why: string) => ({ status: 'foreign', reason: why });

/** Offset of the metadata entry, which is the last one. */
function metadataAt(): number {
  let at = EXTENSIONS_AT;
  while (data.readUInt16LE(at) !== METADATA_TYPE) at += 4 + data.readUInt16LE(at + 2);
  return at;
}

/** Replaces the account's last entry. */
function withMetadata(change: (entry: Buffer) => Buffer): Buffer {
  const at = metadataAt();
  const entry = change(Buffer.from(data.subarray(at + 4)));
  const head = Buffer.alloc(4);
  head.writeUInt16LE(METADATA_TYPE, 0);
  head.writeUInt16LE(entry.length, 2);
  return Buffer.concat([data.subarray(0, at), head, entry]);
}

function withByte(at: number, byte: number): Buffer {
  const changed = Buffer.from(data);
  changed[at] = byte;
  return changed;
}

function doubledField(entry: Buffer): Buffer {
  const field = entry.indexOf('version') - 4;
  const countAt = entry.indexOf('merkleRoot') - 8;
  entry.writeUInt32LE(5, countAt);
  return Buffer.concat([entry, entry.subarray(field, field + 4 + 7 + 4 + 20)]);
}

test('the account has the length for which rent was paid, and is read', () => {
  expect(data).toHaveLength(accountBytes(client.authority as never, address as never));
  expect(readings(data)).toEqual({ served: ROOT, verified: ROOT });
});

test('one that is far too long is refused before anything in it is read', () => {
  const entries = Buffer.alloc(1024 * 1024);
  for (let at = 0, type = 100; at + 4 <= entries.length; at += 4, type = (type % 60_000) + 100)
    entries.writeUInt16LE(type, at);
  for (const more of [Buffer.alloc(1024), entries])
    expect(reason(Buffer.concat([data, more]))).toEqual(foreign('The account has a wrong size.'));
});

describe('what the ledger never creates is refused by the service as by the verifier', () => {
  test.each<[string, () => Buffer, string]>([
    ['metadata twice', () => Buffer.concat([data, data.subarray(metadataAt())]), 'An extension occurs twice.'],
    ['a field twice', () => withMetadata(doubledField), 'A field of the metadata occurs twice.'],
    ['a mint that is not initialized', () => withByte(INITIALIZED_AT, 0), 'The mint is not initialized.'],
    [
      'bytes after the metadata',
      () => withMetadata((entry) => Buffer.concat([entry, Buffer.of(7)])),
      'Bytes are left over after the metadata.',
    ],
    [
      'bytes after the extensions',
      () => Buffer.concat([data, Buffer.of(0, 0, 9)]),
      'Bytes are left over after the extensions.',
    ],
    ['padding that is not zero', () => withByte(120, 1), 'The padding after the mint is not zero.'],
    ['no account of a mint', () => withByte(EXTENSIONS_AT - 1, 2), 'The account is not a mint.'],
    ['no metadata', () => data.subarray(0, metadataAt()), 'The mint has no metadata.'],
  ])('%s', (_, make, why) => {
    const bytes = make();
    expect(reason(bytes)).toEqual(foreign(why));
    expect(readings(bytes)).toEqual({ served: null, verified: null });
  });

  test('with any byte changed or cut anywhere, both read the same or refuse', () => {
    for (let at = 0; at < data.length; at++) {
      const cases = [1, 0x80, 0xff].map((mask) => withByte(at, data[at]! ^ mask));
      for (const bytes of [...cases, data.subarray(0, at)]) {
        const { served, verified } = readings(bytes);
        expect({ at, served }).toEqual({ at, served: verified });
      }
    }
  });
});
