import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { decodeAddress } from '../../client/verify/base58.ts';
import { EXIT, isTransient } from '../exit-code.ts';
import { examples, finiteNumber } from '../option-values.ts';
import { jsonLine } from '../output/json.ts';
import { write, writeError } from '../output/streams.ts';
import { inSession, type Session } from '../session.ts';
import { Watch } from '../watch/watch.ts';
import { eventLine, type WatchEvent } from '../watch/watch-event.ts';
import { WatchState } from '../watch/watch-state.ts';
import type { LedgerTrust } from '../watch/watched-ledger.ts';

const INTERVAL_SECONDS = 60;
const INTERVAL_MIN_SECONDS = 0.1;
const VERIFY_EVERY_SECONDS = 3_600;

interface WatchOptions {
  interval: number;
  verifyEvery: number;
  state?: string;
  once?: true;
  authority?: string;
  rpc?: string;
}

export const watchCommand = (): Command =>
  new Command('watch')
    .description('follow the anchors of collections, and exit with 1 if one contradicts what was seen before')
    .argument('[collections...]', 'names or aliases; all collections of the account by default')
    .option('--interval <seconds>', 'time between two looks', finiteNumber, INTERVAL_SECONDS)
    .option(
      '--verify-every <seconds>',
      'least time between two verifications of a collection, 0 for none',
      finiteNumber,
      VERIFY_EVERY_SECONDS,
    )
    .option('--state <file>', 'keep in this file what was seen; a later watch then continues from it')
    .option('--once', 'look once and end')
    .option('--authority <address>', 'the address that alone may write to the ledger, from a source that you trust')
    .option('--rpc <url>', 'with --authority: a node of the ledger that you trust, to compare with')
    .addHelpText(
      'after',
      `
Exits with 1 when a version goes back, the root of a version changes, an anchor is gone, or verify
says mismatch; with --authority and --rpc, also when the ledger has another root. With --json,
prints an event per line.
${examples(
  'provec watch notes --once',
  'provec watch --once --state watch.json --authority "$AUTHORITY" --rpc "$LEDGER" --json',
)}`,
    )
    .action(
      inSession(async (session, names: string[], options: WatchOptions) => {
        if (options.interval < INTERVAL_MIN_SECONDS)
          throw new InputError(`--interval must be at least ${INTERVAL_MIN_SECONDS}.`);
        if (options.verifyEvery < 0) throw new InputError('--verify-every must be 0 or more.');
        const state = await WatchState.open(options.state);
        const report = (event: WatchEvent) => write(session.isJson ? jsonLine(event) : `${eventLine(event)}\n`);
        const parts = { session, client: await session.client(), state, names, report };
        const watch = new Watch({ ...parts, verifyEvery: options.verifyEvery, trust: trustIn(options) });
        return follow(session, watch, options);
      }),
    );

function trustIn({ authority, rpc }: WatchOptions): LedgerTrust | null {
  if (authority === undefined && rpc === undefined) return null;
  if (authority === undefined || rpc === undefined) throw new InputError('Give --authority together with --rpc.');
  if (decodeAddress(authority) === null) throw new InputError('--authority is not an address of the ledger.');
  if (!URL.canParse(rpc)) throw new InputError('--rpc is not the address of a node.');
  return { authority, rpc };
}

/** Watches until it finds a contradiction. Keeps watching while the service is unreachable. */
async function follow({ request }: Session, watch: Watch, { interval, once }: WatchOptions): Promise<number> {
  for (;;) {
    try {
      if (await watch.round()) return EXIT.negative;
    } catch (error) {
      if (once || request.signal.aborted || !isTransient(error)) throw error;
      await writeError(`the watch continues after: ${(error as Error).message}`);
    }
    if (once) return EXIT.done;
    await delay(interval * 1_000, undefined, request);
  }
}
