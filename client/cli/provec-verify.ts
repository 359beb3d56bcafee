#!/usr/bin/env node
/**
 * `provec-verify <proof.json> ...` (in this repository `npm run verify -- <proof.json> ...`) prints
 * whether a proof holds.
 *
 * It reads files and, with --rpc, asks a node of the ledger. It never contacts the Provec service.
 * Exit codes: 0 proven, 1 not proven, 2 wrong arguments or unreadable input.
 */
import { parseArgs } from 'node:util';
import { InputError } from './json-file.ts';
import { printable } from './printable.ts';
import { verdictOnFile } from './proof-file.ts';

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
const NOT_PROVEN = 1;
const MISUSED = 2;

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
  const verdict = await verdictOnFile(path, values);
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
