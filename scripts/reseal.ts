/**
 * `npm run reseal [-- --apply]`: reseals everything that a stopped installation has stored under
 * the current secret; with `--lost` also data sealed under a lost secret.
 *
 * Without `--apply` nothing is written; with it only seals change and contradictions are added.
 * Without `--lost` only rows with a valid seal of a given secret are resealed. An interrupted run
 * can be repeated. It refuses to run while another process has the data folder or a node is alive.
 * Exit codes: 0 everything is sealed (with `--lost`: and matches the ledger, except API keys and
 * checkpoints); 2 something is not; 1 failed or refused. See docs/internals/sealing.md.
 */
import type { Logger } from 'pino';
import { type StoreKeys, storeKeys } from '../lib/secret/keyring.ts';
import { type Config, readConfig } from '../process/config.ts';
import { makeLogger } from '../process/logger.ts';
import { checkpointsIn, lockHome, type NodeHome } from '../process/node-home.ts';
import { refuseSymbolicLinks } from '../process/own-files.ts';
import { loadSecrets } from '../process/secret-file.ts';
import { LedgerUnreachableError } from '../services/anchoring/ledger/rpc-pool.ts';
import { auditSeals, resealAll, TRUST_NOTHING, type TrustPolicy } from '../store/resealer.ts';
import type { StoreToReseal } from '../store/resealing.ts';
import { openSqliteToReseal } from '../store/sqlite/resealing.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { RESEAL_USAGE, type ResealOptions, readArguments } from './reseal/arguments.ts';
import { type OpenLedger, openLedger } from './reseal/ledger.ts';
import { describeComparison } from './reseal/ledger-comparison.ts';
import { type CollectionVerdict, LostSecret } from './reseal/lost-secret.ts';
import { newKey } from './reseal/new-key.ts';
import { assertNoLiveNodes } from './reseal/no-live-nodes.ts';
import { describeRow, quoteValue, Report } from './reseal/report.ts';

const EXIT_FAILED = 1;
const EXIT_UNSEALED = 2;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Run {
  asked: ResealOptions;
  config: Config;
  log: Logger;
  keys: StoreKeys;
  hasEarlier: boolean;
  home: NodeHome;
}

/** Loads the MongoDB driver only if it is needed. */
async function open({ config: { mongoUrl, dataDir }, keys, asked }: Run): Promise<StoreToReseal> {
  if (mongoUrl === null) return openSqliteToReseal(dataDir, keys, asked.lost);
  const { openMongoToReseal } = await import('../store/mongo/resealing.ts');
  return openMongoToReseal({ url: mongoUrl, keys, trustsLog: asked.lost });
}

/** Goes through all seals and prints the findings. */
async function reseal(
  { seals }: StoreToReseal,
  { asked, keys, hasEarlier }: Run,
  policy: TrustPolicy,
): Promise<Report> {
  const report = new Report(asked.apply);
  for await (const finding of (asked.apply ? resealAll : auditSeals)(seals, keys, policy)) {
    const line = report.add(finding);
    if (line !== null) say(line);
  }
  for (const line of report.lines()) say(line);
  if (!asked.apply) say('Nothing was written: use --apply to write seals.');
  else if (hasEarlier) say(ofEarlierSecrets(report));
  return report;
}

/**
 * A refused row may carry an earlier secret's seal again once an operator repairs it, so earlier
 * secrets are still needed then. Checkpoints do not count: shards open without them.
 */
function ofEarlierSecrets(report: Report): string {
  if (report.leavesEarlier) return 'Some rows could not be sealed: run this again before you drop an earlier secret.';
  const refused = report.refused('checkpoint');
  return refused === 0
    ? 'No row needs an earlier secret any more: earlier secrets can be dropped.'
    : `${refused} refused: keep earlier secrets until the refused rows are repaired and sealed by another run, or given up.`;
}

/** Rotates secrets: replaces each valid seal of a given secret with one of the first secret. */
async function rotate(store: StoreToReseal, run: Run): Promise<number> {
  if (!(await store.seals.matchesInstallation()))
    throw new Error('The store was made under another secret: put that one back, or see --lost in docs/operations.md.');
  return (await reseal(store, run, TRUST_NOTHING)).refused() > 0 ? EXIT_UNSEALED : 0;
}

async function withoutSecret(store: StoreToReseal, run: Run): Promise<number> {
  const { asked, config, log, keys } = run;
  const isLedgerOn = config.ledger === 'on';
  const asksLedger = isLedgerOn && !asked.withoutLedger;
  const ledger: OpenLedger | null = asksLedger ? await openLedger(config, store.anchors, log) : null;
  const why = isLedgerOn ? 'The ledger was not asked (--without-ledger).' : 'PROVEC_LEDGER is off.';
  try {
    const { plans } = config;
    const witness = ledger?.witness ?? why;
    const lost = await LostSecret.read({ store, keys, plans, witness, isLedgerOn, keepKeys: asked.keepKeys });
    say('Check each of these plans, accounts and collections: only you know whether they are correct.');
    for (const row of lost.plans) say(describeRow({ kind: 'plan', isInPlace: true, row: { ...row, seal: '' } }));
    for (const row of lost.accounts)
      say(describeRow({ kind: 'account', state: 'live', isInPlace: true, row: { ...row, seal: '' } }));
    // All collections are judged before anything is written: the ledger may become unreachable.
    const judged: CollectionVerdict[] = [];
    for await (const each of lost.verdicts()) {
      judged.push(each);
      sayOf(each);
    }
    let isAnyMissing = false;
    for await (const id of lost.missing()) {
      isAnyMissing = true;
      say(`missing: the collection ${quoteValue(id)} has anchors but is not in the catalog`);
    }
    if (asked.apply) for (const each of judged) await lost.contradict(each);
    const report = await reseal(store, run, lost.policy);
    const areHeld = judged.every(({ found }) => found.state === 'held');
    return report.refused(...lost.neverSealed) > 0 || isAnyMissing || !areHeld ? EXIT_UNSEALED : 0;
  } catch (error) {
    if (!(error instanceof LedgerUnreachableError)) throw error;
    throw new Error(`${error.message} Nothing was written; use --without-ledger to continue without the ledger.`, {
      cause: error,
    });
  } finally {
    await ledger?.close();
  }
}

function sayOf({ collection, found, reason }: CollectionVerdict): void {
  const row = { ...collection, seal: '' };
  say(`${describeRow({ kind: 'collection', state: 'live', isInPlace: true, row })}: ${describeComparison(found)}`);
  if (reason !== null) say(`  not anchored until provec resume ${collection.id}`);
}

/** Creates a key for an account that has lost all its keys. */
async function makeKey({ asked, config, log, keys, home }: Run): Promise<number> {
  const folder = checkpointsIn(home.folder);
  const { mongoUrl, dataDir } = config;
  const store =
    mongoUrl === null
      ? await openSqliteStore(dataDir, { keys, log, nodeFolder: folder })
      : await (await import('../store/mongo/store.ts')).openMongoStore({ url: mongoUrl, folder, keys, log });
  try {
    say(await newKey(store, asked.newKey!));
    return 0;
  } finally {
    await store.close();
  }
}

async function main(): Promise<number> {
  const words = process.argv.slice(2);
  if (words.includes('--help') || words.includes('-h')) {
    say(RESEAL_USAGE);
    return 0;
  }
  const asked = readArguments(words);
  const config = readConfig(process.env);
  const log = makeLogger(config);
  // Locks the whole folder, even if nodes normally share it.
  await refuseSymbolicLinks(config);
  const home = await lockHome({ ...config, mongoUrl: null, redisUrl: null, transporter: 'none' });
  try {
    const secrets = await loadSecrets(config, false, log);
    const run: Run = { asked, config, log, keys: storeKeys(secrets), hasEarlier: secrets.length > 1, home };
    if (asked.newKey !== null) return await makeKey(run);
    const store = await open(run);
    try {
      await assertNoLiveNodes(store);
      return await (asked.lost ? withoutSecret : rotate)(store, run);
    } finally {
      await store.close();
    }
  } finally {
    await home.release();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`Provec cannot reseal the store: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  process.exitCode = EXIT_FAILED;
}
