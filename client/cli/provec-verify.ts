#!/usr/bin/env node
/**
 * `provec-verify <proof.json> ...` (in this repository `npm run verify -- <proof.json> ...`) prints
 * whether a proof holds.
 *
 * It reads files and, with --rpc, asks a node of the ledger. It never contacts the Provec service.
 * Exit codes: 0 proven, 1 not proven, 2 wrong arguments or unreadable input.
 */
import { parseArgs } from 'node:util';
import type { RecordProof } from '../verify/record-proof.ts';
import type { ExpectedRecord } from '../verify/verify-proof.ts';
import { InputError, readJson, within } from './json-file.ts';
import { answersIn, nodeAt } from './ledger-source.ts';
import { printable } from './printable.ts';
import { type TrustBasis, verdictOn } from './verdict.ts';

const USAGE = `Usage: provec-verify <proof.json> --authority <address> --rpc <url>
       provec-verify <proof.json> --authority <address> --account <account.json> [--transaction <transaction.json>]
       provec-verify <proof.json> --root <64 hex digits>

proof.json is the answer to GET /api/v1/collections/{name}/proof?id=...

  --authority <address>   the address that alone may write the collection's account, from a source that you trust
  --rpc <url>             a node of the ledger that you trust, which is asked for the account and, where the
                          collection has moved on, for the transaction that anchored the proof
  --account <file>        the answer of such a node to getAccountInfo (base64), kept
  --transaction <file>    its answer to getTransaction (base64, finalized) for the proof's ledgerTx, kept
  --root <hex>            the collection's root, from a source that you trust
  --collection <uuid>     the collection that it must be about
  --id <id>               the record that it must be about
  --namespace <name>      its namespace; without it, the default one
  --present, --absent     what it must prove; without either, whichever it is
  --record <file>         {"id"?, "namespace"?, "values"?, "metadata"?} that the record must have
`;
const RECORD_KEYS = ['id', 'namespace', 'values', 'metadata'];
const NOT_PROVEN = 1;
const MISUSED = 2;

/** Checks an expected record. Unknown keys are refused, since a misspelt key would be ignored. */
function recordIn(value: unknown, path: string): ExpectedRecord {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const keys = isObject ? Object.keys(value) : [];
  const other = keys.find((key) => !RECORD_KEYS.includes(key));
  if (other !== undefined)
    throw new InputError(
      `${path} has the key ${JSON.stringify(other)}; a record has id, namespace, values and metadata alone.`,
    );
  if (keys.length === 0)
    throw new InputError(`${path} must hold an object with at least one of id, values and metadata.`);
  return value as ExpectedRecord;
}

function trustedIn({ root, authority, rpc, account, transaction }: Record<string, string | undefined>): TrustBasis {
  const isWhole = root === undefined ? authority !== undefined : authority === undefined;
  const sources = [root, rpc, account].filter((source) => source !== undefined);
  if (!isWhole || sources.length !== 1)
    throw new InputError('Give --root, or --authority with one of --rpc and --account; --help says more.');
  if (transaction !== undefined && account === undefined)
    throw new InputError('Give --transaction together with --account.');
  if (root !== undefined) return { root };
  return { authority: authority!, ...(rpc === undefined ? answersIn(account!, transaction) : nodeAt(rpc)) };
}

function readArguments() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const texts = {
    authority: text,
    rpc: text,
    account: text,
    transaction: text,
    root: text,
    collection: text,
    id: text,
    namespace: text,
    record: text,
  };
  try {
    return parseArgs({ options: { ...texts, present: flag, absent: flag, help: flag }, allowPositionals: true });
  } catch (error) {
    throw new InputError((error as Error).message);
  }
}

async function main(): Promise<number> {
  const { values, positionals } = readArguments();
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [path] = positionals;
  if (path === undefined || positionals.length > 1)
    throw new InputError('Give one file with a proof; --help says more.');
  const { help: _, collection: collectionId, id, namespace, record, present, absent, ...sources } = values;
  if (present && absent) throw new InputError('Give --present or --absent, not both.');
  const outcome = present ? 'present' : absent ? 'absent' : undefined;
  const trusted = trustedIn(sources);
  const proof = within(await readJson(path), 'proof') as RecordProof;
  const expected = record === undefined ? {} : recordIn(await readJson(record), record);
  if (id !== undefined && (expected.id ?? id) !== id) throw new InputError(`${record} is of another id than --id.`);
  if (namespace !== undefined && (expected.namespace ?? namespace) !== namespace)
    throw new InputError(`${record} is of another namespace than --namespace.`);
  const verdict = await verdictOn(proof, trusted, {
    ...expected,
    ...(id !== undefined && { id }),
    ...(namespace !== undefined && { namespace }),
    collectionId,
    outcome,
  });
  process.stdout.write(`${verdict.lines.map(printable).join('\n')}\n`);
  return verdict.isProven ? 0 : NOT_PROVEN;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isKnown = error instanceof InputError || error instanceof TypeError || error instanceof RangeError;
  process.stderr.write(`provec-verify: ${printable(isKnown ? error.message : String(error))}\n`);
  process.exitCode = MISUSED;
}
