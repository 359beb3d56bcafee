/**
 * Compares docs/format.md with the code: the client, the server and the ledger's own program must
 * reproduce every worked value on the page.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/web3.js';
import canonicalize from 'canonicalize';
import { collectionAddress, verifyProof, verifyTransaction } from '../../../client/index.ts';
import { decodeAddress } from '../../../client/verify/base58.ts';
import { canonicalJson } from '../../../client/verify/canonical-json.ts';
import * as portable from '../../../client/verify/content-hash.ts';
import { ledgerAccount } from '../../../client/verify/ledger-account.ts';
import { ledgerTransaction } from '../../../client/verify/ledger-transaction.ts';
import { SIBLINGS_MAX } from '../../../client/verify/record-proof.ts';
import { ACCOUNT_BYTES_MAX } from '../../../client/verify/token-metadata.ts';
import { BLOCK_TIME_MAX, TRANSACTION_BYTES_MAX } from '../../../client/verify/verify-transaction.ts';
import { parseJson } from '../../../lib/json/text.ts';
import { LIMITS } from '../../../lib/limits.ts';
import * as native from '../../../lib/merkle/leaf.ts';
import { collectionSeed } from '../../../services/anchoring/ledger/collection-account.ts';
import { isThorough } from '../../support/effort.ts';
import { FormatPage } from '../../support/format-page.ts';
import { metadataAt } from '../../support/refused-accounts.ts';
import {
  EXAMPLE_COLLECTION as COLLECTION,
  EXAMPLE,
  EXAMPLE_TIME,
  type ExampleAccount,
  type ExampleOnLedger,
  exampleOnLedger,
  honestTransaction,
  PROOF_BLOCKS,
  proofOn,
  EXAMPLE_VERSION as VERSION,
} from './format-example.ts';

const { records, root } = EXAMPLE;
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';
const OTHER_COLLECTION = '11111111-2222-4333-8444-555555555555';

let made: ExampleAccount;
let authority: string;
let transaction: ExampleOnLedger['transaction'];
/** The client's requests to a ledger node. */
let asked: { account: unknown; transaction: unknown };

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytesOf = (...cells: string[]): Buffer => Buffer.from(cells.join('').replaceAll(' ', ''), 'hex');
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  ({ account: made, authority, transaction } = await exampleOnLedger());
  asked = {
    account: await askedOfANode((url) => ledgerAccount(url, made.address)),
    transaction: await askedOfANode((url) => ledgerTransaction(url, transaction.signature)),
  };
});

async function askedOfANode(ask: (url: string) => Promise<unknown>): Promise<unknown> {
  let body = '';
  const node = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => response.end('{"result":{"value":null}}'));
  });
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  await ask(`http://127.0.0.1:${(node.address() as AddressInfo).port}`);
  node.closeAllConnections();
  await new Promise((resolve) => node.close(resolve));
  return JSON.parse(body);
}

/** Subtrees of the example's tree, by their names on the page. */
function subtrees(): Map<string, Uint8Array> {
  const [alpha, one, two] = records.map(({ id }) => Buffer.from(EXAMPLE.leaves[id]!, 'hex'));
  const empty = new Uint8Array(32);
  const tree = new Map<string, Uint8Array>([
    ['EMPTY', empty],
    ['alpha-0', alpha!],
    ['βeta-1', one!],
    ['βeta-2', two!],
  ]);
  tree.set('prefix 1100', portable.innerHashOf(two!, one!));
  tree.set('prefix 110', portable.innerHashOf(tree.get('prefix 1100')!, empty));
  tree.set('prefix 11', portable.innerHashOf(tree.get('prefix 110')!, empty));
  tree.set('prefix 1', portable.innerHashOf(empty, tree.get('prefix 11')!));
  tree.set('root', portable.innerHashOf(alpha!, tree.get('prefix 1')!));
  return tree;
}

/** Each check throws when the page and the code disagree. */
const CHECKS: Record<string, (page: FormatPage) => void> = {
  'the records, and their hashes'(page) {
    expect(JSON.parse(page.block('records'))).toEqual(records);
    const hashes = records.flatMap(({ id, values, metadata }) => {
      const key = native.keyHashOf(id);
      const vec = native.vecHashOf(Float32Array.from(values));
      const meta = native.metaHashOf(canonicalize(metadata)!);
      expect(EXAMPLE.leaves[id]).toBe(hex(native.leafHashOf(key, vec, meta)));
      const leaf = portable.leafHashOf(
        portable.keyHashOf(id),
        portable.vecHashOf(values),
        portable.metaHashOf(metadata),
      );
      return Object.entries({ key, vec, meta, leaf }).map(([name, hash]) => [id, name, hex(hash)]);
    });
    expect(page.cells('hashes')).toEqual(hashes);
  },
  'what is hashed for the first'(page) {
    const inputs = page
      .block('alpha-0')
      .replaceAll(/\n {2,}/g, ' ')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    const hashes = inputs.map(([name, input]) => ['alpha-0', name!.split(' ')[0], sha256(bytesOf(input!))]);
    expect(hashes).toEqual(page.cells('hashes').slice(0, 3));
  },
  'float32 numbers'(page) {
    const rows = page.table('JSON', 'float32, little-endian');
    expect(rows.length).toBeGreaterThan(8);
    for (const [json, float] of rows) {
      const number = JSON.parse(json!) as number;
      if (float === 'refused') {
        expect(() => portable.vecHashOf([number])).toThrow(TypeError);
        continue;
      }
      const hash = sha256(Buffer.concat([Buffer.from('PV1vec\0'), bytesOf('01', '01000000', float!)]));
      expect([json, hex(portable.vecHashOf([number]))]).toEqual([json, hash]);
      expect([json, hex(native.vecHashOf(Float32Array.of(number)))]).toEqual([json, hash]);
    }
  },
  'canonical numbers'(page) {
    const rows = page.table('JSON', 'canonical');
    expect(rows.length).toBeGreaterThan(12);
    for (const [json, canonical] of rows) {
      expect([json, canonicalJson(JSON.parse(json!))]).toEqual([json, canonical]);
      expect([json, canonicalize(JSON.parse(json!))]).toEqual([json, canonical]);
    }
  },
  'canonical metadata'(page) {
    const metadata = parseJson(page.block('metadata'));
    expect(`${canonicalJson(metadata)}\n`).toBe(page.block('canonical'));
    expect(`${canonicalize(metadata)}\n`).toBe(page.block('canonical'));
  },
  'the tree'(page) {
    const tree = subtrees();
    const rows = page.cells('tree');
    expect(rows.map(([name]) => name)).toEqual(['root', 'prefix 1', 'prefix 11', 'prefix 110', 'prefix 1100']);
    for (const [name, hash, made] of rows) {
      expect([name, hash]).toEqual([name, hex(tree.get(name!)!)]);
      const [left, right] = /^node\((.*), (.*)\)$/
        .exec(made!)!
        .slice(1)
        .map((part) => tree.get(part)!);
      expect([name, hash]).toEqual([name, hex(portable.innerHashOf(left!, right!))]);
    }
    expect(rows[0]![1]).toBe(root);
  },
  'the proofs'(page) {
    for (const [id, block] of Object.entries(PROOF_BLOCKS)) {
      const proof = proofOn(page, block);
      const { siblings, terminal, present } = EXAMPLE.proofs[id] ?? EXAMPLE.collection.prove(id);
      const named = {
        collectionId: COLLECTION,
        ledgerAddress: made.address,
        merkleRoot: root,
        version: VERSION,
        ledgerTx: transaction.signature,
      };
      expect(proof).toEqual({ format: 'PV1', id, namespace: '', present, siblings, terminal, ...named });
      expect(verifyProof(root, proof, { id })).toBe(present ? 'present' : 'absent');
      expect(page.table('field', 'is').map(([field]) => field)).toEqual(Object.keys(proof));
    }
  },
  'the address'(page) {
    const digest = createHash('sha256')
      .update('PV1col\0')
      .update(bytesOf(COLLECTION.replaceAll('-', '')))
      .digest();
    const address = decodeAddress(made.address)!;
    const seed = collectionSeed(COLLECTION);
    const program = decodeAddress(made.owner)!;
    expect(collectionAddress(authority, COLLECTION)).toBe(made.address);
    expect(sha256(Buffer.concat([decodeAddress(authority)!, Buffer.from(seed), program]))).toBe(hex(address));
    const lines = [
      ['authority', authority],
      ['', hex(decodeAddress(authority)!)],
      ['program', made.owner],
      ['', hex(program)],
      ['seed of', `${hex(Buffer.from('PV1col\0'))} ${COLLECTION.replaceAll('-', '')}`],
      ['SHA-256', hex(digest)],
      ['seed', seed],
      ['address', hex(address)],
      ['', made.address],
    ];
    expect(page.cells('address')).toEqual(lines);
  },
  'the requests'(page) {
    expect(JSON.parse(page.block('request'))).toEqual(asked.account);
    expect(JSON.parse(page.block('transaction-request'))).toEqual(asked.transaction);
  },
  'the transaction'(page) {
    const { wire, signature } = transaction;
    expect(page.block('transaction').replaceAll('\n', '')).toBe(wire);
    const honest = honestTransaction({ account: made, authority, transaction });
    expect(verifyTransaction(honest.transaction, honest.expected)).toEqual({
      signature,
      slot: honest.transaction.slot,
      anchoredAt: new Date(EXAMPLE_TIME * 1000).toISOString().replace('.000', ''),
    });
    const head = /`([0-9a-f]{16})`, the first bytes of SHA-256 of `([\w:]+)`/.exec(page.text.replaceAll(/\s+/g, ' '))!;
    expect(sha256(Buffer.from(head[2]!)).slice(0, 16)).toBe(head[1]);
    expect(Buffer.from(wire, 'base64').indexOf(Buffer.from(head[1]!, 'hex'))).toBeGreaterThan(0);
    expect(page.text).toContain(`\`${COMPUTE_BUDGET}\``);
    expect(page.text).toContain(`has at most ${TRANSACTION_BYTES_MAX} bytes`);
    expect(page.text).toContain(`more than ${TRANSACTION_BYTES_MAX},`);
    expect(page.text).toContain(`from 0 to ${BLOCK_TIME_MAX};`);
    const compiled = getCompiledTransactionMessageDecoder().decode(
      getTransactionDecoder().decode(Buffer.from(wire, 'base64')).messageBytes,
    );
    expect(compiled.staticAccounts).toContain(COMPUTE_BUDGET);
  },
  'the account'(page) {
    expect(page.block('account').replaceAll('\n', '')).toBe(Buffer.from(made.data).toString('base64'));
    expect(page.text).toContain(`three extensions, ${made.data.length} bytes,`);
    const rows = page.table('offset', 'bytes', 'is');
    let end = 0;
    for (const [offset, bytes, is] of rows) {
      expect([is, Number(offset)]).toEqual([is, end]);
      const sizes = bytes!.split(' + ').map(Number);
      end += sizes.reduce((sum, size) => sum + size, 0);
      const entry = /^entry of type (\d+)/.exec(is!);
      if (entry === null) continue;
      const data = Buffer.from(made.data);
      expect([data.readUInt16LE(Number(offset)), data.readUInt16LE(Number(offset) + 2)]).toEqual([
        Number(entry[1]),
        sizes[1],
      ]);
    }
    expect(end).toBe(made.data.length);
    expect(rows.at(-1)![0]).toBe(String(metadataAt(made.data)));
  },
  'the tags and the bounds'(page) {
    const tags = Array.from(page.text.matchAll(/"(PV\d\w{3})"/g), ([, tag]) => tag);
    expect(tags).toEqual(['PV1key', 'PV1vec', 'PV1met', 'PV1col']);
    const { idMaxBytes, metadataMaxBytes, metadataMaxLevels } = LIMITS;
    for (const bound of [
      `An id has 1 to ${idMaxBytes} bytes`,
      `not of 1 to ${idMaxBytes} bytes`,
      `at most ${metadataMaxBytes / 1024} KiB`,
      `at most ${metadataMaxLevels} levels`,
      `more than ${SIBLINGS_MAX} elements`,
      `more than ${ACCOUNT_BYTES_MAX} `,
    ])
      expect(page.text.replaceAll(/\s+/g, ' ')).toContain(bound);
  },
  'every hash, address, signature and id'(page) {
    const known = new Set([
      transaction.signature,
      made.address,
      authority,
      made.owner,
      COLLECTION,
      OTHER_COLLECTION,
      '0'.repeat(64),
    ]);
    known.add(collectionAddress(authority, OTHER_COLLECTION));
    known.add(COMPUTE_BUDGET);
    known.add('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz');
    for (const block of ['hashes', 'tree', 'address']) for (const cell of page.cells(block).flat()) known.add(cell);
    const prose = page.text.replaceAll(/^```\w+ (account|alpha-0|address|records|transaction)\n[\s\S]*?^```$/gm, '');
    for (const word of prose.match(/[0-9a-f-]{36,}|[0-9A-Za-z]{43,}/g) ?? []) expect([...known]).toContain(word);
  },
};

describe('docs/format.md has', () => {
  test.each(Object.entries(CHECKS))('%s', (_, check) => check(FormatPage.read()));

  test('no block that no test checks', () => {
    const blocks = [
      'records',
      'alpha-0',
      'hashes',
      'metadata',
      'canonical',
      'tree',
      ...Object.values(PROOF_BLOCKS),
      'address',
      'request',
      'account',
      'transaction-request',
      'transaction',
    ];
    expect(FormatPage.read().blockNames).toEqual(blocks);
  });

  test('no digit of a value that could be changed unnoticed', () => {
    const { text } = FormatPage.read();
    const words = /(?<![\w.#-]|^\| `)[\w-]*\d[\w-]{7,}/gm;
    const cells = /(?<=^\| `.*` \| `)[\de+.-]+(?=` \|$)/gm;
    const values = [...text.matchAll(words), ...text.matchAll(cells)];
    expect(values.length).toBeGreaterThan(90);
    const unseen: string[] = [];
    for (const [nth, { 0: value, index }] of values.entries()) {
      const places = Array.from(value, (_, at) => at).filter((at) => /[0-9A-Za-z]/.test(value[at]!));
      for (const at of isThorough ? places : [places[(7 * nth) % places.length]!]) {
        const other = text.slice(0, index + at) + anotherThan(value[at]!) + text.slice(index + at + 1);
        const page = new FormatPage(other);
        if (Object.values(CHECKS).every((check) => passes(check, page))) unseen.push(`${value} at ${at}`);
      }
    }
    expect(unseen).toEqual([]);
  });
});

function anotherThan(char: string): string {
  if (/\d/.test(char)) return String((Number(char) + 1) % 10);
  const first = /[a-z]/.test(char) ? 'a' : 'A';
  return char === first ? String.fromCharCode(first.charCodeAt(0) + 1) : first;
}

function passes(check: (page: FormatPage) => void, page: FormatPage): boolean {
  try {
    check(page);
    return true;
  } catch {
    return false;
  }
}

describe('an address with a seed', () => {
  const P = 2n ** 255n - 19n;
  const power = (base: bigint, exponent: bigint): bigint => {
    let result = 1n;
    for (let square = base % P, left = exponent; left > 0n; left >>= 1n, square = (square * square) % P) {
      if (left & 1n) result = (result * square) % P;
    }
    return result;
  };
  const d = ((P - 121665n) * power(121666n, P - 2n)) % P;
  /** Whether some x satisfies -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, 5.1.3). */
  const isPoint = (address: string): boolean => {
    const bytes = decodeAddress(address)!.toReversed();
    const y = BigInt(`0x${hex(bytes)}`) & (2n ** 255n - 1n);
    const square = ((y * y - 1n + P) * power(d * y * y + 1n, P - 2n)) % P;
    return square === 0n || power(square, (P - 1n) / 2n) === 1n;
  };

  test('is a point of the curve for about half of them', () => {
    expect(isPoint(authority)).toBe(true);
    expect(isPoint(made.address)).toBe(true);
    expect(isPoint(collectionAddress(authority, OTHER_COLLECTION))).toBe(false);
    const ids = Array.from({ length: 400 }, (_, at) => COLLECTION.replace(/.{3}$/, String(at).padStart(3, '0')));
    const points = ids.filter((id) => isPoint(collectionAddress(authority, id))).length;
    expect(points).toBeGreaterThan(150);
    expect(points).toBeLessThan(250);
  });
});
