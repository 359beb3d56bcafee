#!/usr/bin/env node
/**
 * `provec-verify <proof.json> ...` (in this repository `npm run verify -- <proof.json> ...`): says in words whether a proof holds.
 *
 * Reads files, and asks a node of the ledger only with --rpc; never the Provec server. Exit codes: 0 proven; 1 not proven; 2 wrong arguments, or something that could
 * not be read.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { RecordProof } from '../verify/record-proof.ts';
import type { AccountSnapshot } from '../verify/verify-account.ts';
import { type Trusted, verdictOn } from './verdict.ts';

const USAGE = `Usage: provec-verify <proof.json> --authority <address> (--rpc <url> | --account <account.json>)
       provec-verify <proof.json> --root <64 hex digits>

proof.json is the answer to GET /api/v1/collections/{name}/proof?id=...

  --authority <address>   the address that alone may write the collection's account, from a source that you trust
  --rpc <url>             a node of the ledger that you trust, which is asked for the account
  --account <file>        the answer of such a node to getAccountInfo (base64), kept
  --root <hex>            the collection's root, from a source that you trust
  --collection <uuid>     the collection that it must be about
  --id <id>               the record that it must be about
  --present, --absent     what it must prove; without either, whichever it is
  --record <file>         {"id"?, "values"?, "metadata"?} that the record must have
`;
const RPC_TIMEOUT_MS = 15_000;
const NOT_PROVEN = 1;
const MISUSED = 2;

type Account = Omit<AccountSnapshot, 'address'>;

/** What a person can mend: said in one line. */
class Misuse extends Error {}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new Misuse(`${path} cannot be read as JSON: ${(error as Error).message}`);
  }
}

/** The object at `key` where there is one, else the whole: files hold answers as they came. */
function within(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && key in value ? (value as Record<string, unknown>)[key] : value;
}

/** The account in an answer to getAccountInfo; null when it says that there is none. */
function accountIn(answer: unknown, source: string): Account | null {
  const value = within(within(answer, 'result'), 'value');
  if (value === null) return null;
  const { data, owner } = value as { data?: unknown; owner?: unknown };
  const bytes = Array.isArray(data) ? data[0] : data;
  if (typeof bytes !== 'string' || typeof owner !== 'string')
    throw new Misuse(`${source} has no account in base64 as getAccountInfo answers it.`);
  return { data: bytes, owner };
}

async function askFor(address: string, url: string): Promise<Account | null> {
  const params = [address, { encoding: 'base64', commitment: 'confirmed' }];
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params }),
      signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
    });
    return accountIn(await response.json(), url);
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw new Misuse(`${url} could not be asked: ${(error as Error).message}`);
  }
}

function trustedIn({ root, authority, rpc, account }: Record<string, string | undefined>): Trusted {
  const isWhole = root === undefined ? authority !== undefined : authority === undefined;
  const sources = [root, rpc, account].filter((source) => source !== undefined);
  if (!isWhole || sources.length !== 1)
    throw new Misuse('Give --root, or --authority with one of --rpc and --account; --help says more.');
  if (root !== undefined) return { root };
  const readAccount = async (address: string) =>
    rpc === undefined ? accountIn(await readJson(account!), account!) : askFor(address, rpc);
  return { authority: authority!, readAccount };
}

function readArguments() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const texts = { authority: text, rpc: text, account: text, root: text, collection: text, id: text, record: text };
  try {
    return parseArgs({ options: { ...texts, present: flag, absent: flag, help: flag }, allowPositionals: true });
  } catch (error) {
    throw new Misuse((error as Error).message);
  }
}

async function main(): Promise<number> {
  const { values, positionals } = readArguments();
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Misuse('Give one file with a proof; --help says more.');
  const { help: _, collection: collectionId, id, record, present, absent, ...sources } = values;
  if (present && absent) throw new Misuse('Give --present or --absent, not both.');
  const outcome = present ? 'present' : absent ? 'absent' : undefined;
  const trusted = trustedIn(sources);
  const proof = within(await readJson(path), 'proof') as RecordProof;
  const expected = record === undefined ? {} : ((await readJson(record)) as object);
  const verdict = await verdictOn(proof, trusted, {
    ...expected,
    ...(id !== undefined && { id }),
    collectionId,
    outcome,
  });
  process.stdout.write(`${verdict.lines.join('\n')}\n`);
  return verdict.isProven ? 0 : NOT_PROVEN;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isKnown = error instanceof Misuse || error instanceof TypeError || error instanceof RangeError;
  process.stderr.write(`provec-verify: ${isKnown ? error.message : String(error)}\n`);
  process.exitCode = MISUSED;
}
