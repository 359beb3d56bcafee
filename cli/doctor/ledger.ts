/** Checks the ledger's nodes: whether they answer, the authority's balance, and their clock. */
import type { Api } from '../../client/index.ts';
import { askNode } from '../../client/verify/ledger-node.ts';
import { type Finding, findingsOf } from './finding.ts';

const LAMPORTS_PER_SOL = 1_000_000_000;
/** Balance below which a collection's account cannot be opened, and below which Provec warns. */
const NEEDED_SOL = 0.006;
const WANTED_SOL = 0.05;
/** A block's time may lag behind the clock by half a minute. */
const LAG_MAX_SECONDS = 60;
const AHEAD_MAX_SECONDS = 5;

/** A ledger node and its answer; `failure` says why there is none. */
interface NodeAnswer {
  origin: string;
  lamports: number | null;
  blockSeconds: number | null;
  failure: string | null;
}

/**
 * Asks the ledger's nodes: `urls` from this machine's settings or, without any, the origins that
 * the service names, which may refuse.
 */
export async function ledgerFindings(
  ledger: Api.Ledger,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<Finding[]> {
  const { ok, unknown } = findingsOf('ledger');
  const { enabled, authority, rpc, isEmbedded } = ledger;
  if (!enabled || authority === null) return [ok('The ledger is off (PROVEC_LEDGER=off): nothing is anchored.')];
  const isNamed = urls.length > 0;
  const answers = await Promise.all((isNamed ? urls : rpc).map((url) => answerOf(url, authority, signal)));
  if (!isNamed && answers.every(({ failure }) => failure !== null))
    return [unknown(`This machine cannot ask the ledger (${answers[0]?.failure}): set PROVEC_SOLANA_RPC_URLS.`)];
  const lamports = answers.map((answer) => answer.lamports).filter((value) => value !== null);
  return [
    reachFinding(answers, isEmbedded),
    ...(lamports.length === 0 ? [] : [fundsFinding(authority, Math.max(...lamports))]),
    ...(isEmbedded ? [] : [ledgerClockFinding(answers, Date.now() / 1_000)]),
  ];
}

async function answerOf(url: string, authority: string, signal: AbortSignal): Promise<NodeAnswer> {
  const ask = async (method: string, params: unknown[]): Promise<unknown> => {
    const { answer } = await askNode(url, method, params, signal);
    return (answer as { result?: unknown }).result;
  };
  const origin = URL.canParse(url) ? new URL(url).origin : 'a node';
  try {
    const { value } = (await ask('getBalance', [authority, { commitment: 'confirmed' }])) as { value: number };
    const slot = await ask('getSlot', [{ commitment: 'finalized' }]);
    // A node may not have kept the block of this slot.
    const time = await ask('getBlockTime', [slot]).catch(() => null);
    return { origin, lamports: value, blockSeconds: typeof time === 'number' ? time : null, failure: null };
  } catch (error) {
    signal.throwIfAborted();
    return { origin, lamports: null, blockSeconds: null, failure: (error as Error).message };
  }
}

function reachFinding(answers: readonly NodeAnswer[], isEmbedded: boolean): Finding {
  const { ok, warning, problem } = findingsOf('ledger');
  const failures = answers.flatMap(({ failure }) => failure ?? []);
  if (failures.length === answers.length)
    return problem(`No node of the ledger answers, so anchors wait: ${failures.join(' ')}`);
  if (failures.length > 0)
    return warning(`Remove a node that is gone from PROVEC_SOLANA_RPC_URLS, or bring it back: ${failures.join(' ')}`);
  if (answers.length === 1 && !isEmbedded)
    return warning(`${answers[0]?.origin} is the only node of the ledger: name several in PROVEC_SOLANA_RPC_URLS.`);
  return ok(isEmbedded ? 'The embedded ledger answers.' : `All ${answers.length} nodes of the ledger answer.`);
}

/** Checks the balance of the address that pays for anchors. */
export function fundsFinding(authority: string, lamports: number): Finding {
  const { ok, warning, problem } = findingsOf('funds');
  const sol = lamports / LAMPORTS_PER_SOL;
  const is = `The authority ${authority} has ${sol} SOL`;
  if (sol < NEEDED_SOL) return problem(`${is}, too little for another collection: send SOL to it, or anchors fail.`);
  return sol < WANTED_SOL ? warning(`${is}: send SOL to it before anchors fail.`) : ok(`${is}.`);
}

/** Compares this machine's clock, in seconds, with the time of the newest blocks. */
export function ledgerClockFinding(answers: readonly Pick<NodeAnswer, 'blockSeconds'>[], nowSeconds: number): Finding {
  const { ok, problem, unknown } = findingsOf("ledger's clock");
  const times = answers.map(({ blockSeconds }) => blockSeconds).filter((time) => time !== null);
  if (times.length === 0) return unknown('No node of the ledger says the time of its newest block.');
  const ahead = Math.max(...times) - nowSeconds;
  if (ahead > AHEAD_MAX_SECONDS)
    return problem(
      `The newest block is ${Math.round(ahead)} s ahead of this machine's clock: keep the clock with NTP.`,
    );
  if (ahead < -LAG_MAX_SECONDS)
    return problem(`The newest block is ${Math.round(-ahead)} s old: the ledger stands still, or this clock is ahead.`);
  return ok('The newest block is of now.');
}
