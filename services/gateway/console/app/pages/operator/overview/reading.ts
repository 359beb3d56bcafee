import type * as Api from '../../../../../../../client/api/generated.ts';
import { APIStatusError } from '../../../../../../../client/http/errors.ts';
import { FigureReader, type Figures } from '../../../../../../../client/metrics/figures.ts';
import type { MetricsPage } from '../../../../../../../client/metrics/metrics-page.ts';
import { failureOf } from '../../../data/failure.ts';
import { askOperator, readMetrics } from '../../../data/operator-session.ts';
import type { Levels, Observed } from './alerts.ts';

/** What one look at the service gave. */
export interface Reading {
  nodes: Api.ListNodesResult;
  /** Null if the metrics cannot be read. */
  figures: Figures | null;
  levels: Levels | null;
  /** Why there are no figures, in words; null if there are. */
  refusal: string | null;
}

/** What changes slowly, or costs the service more to find out. */
export type Standing = Pick<Observed, 'shards' | 'halted' | 'ledger'>;

/** Halted collections that are named one by one. */
const HALTED_SHOWN = 5;
/** Shards that are counted at most: those of one page. */
const SHARDS_COUNTED = 1_000;

/** Reads the nodes and the metrics; compares each read with the one before. */
export class Readings {
  readonly #reader = new FigureReader();

  /** Rejects if the nodes cannot be read. */
  async next(signal: AbortSignal): Promise<Reading> {
    const [nodes, metrics] = await Promise.all([
      askOperator('listNodes', {}, signal),
      readMetrics(signal).then(
        (page) => ({ page, refusal: null }),
        (error: unknown) => ({ page: null, refusal: refusalOf(error) }),
      ),
    ]);
    const { page, refusal } = metrics;
    if (page === null) return { nodes, figures: null, levels: null, refusal };
    return { nodes, figures: this.#reader.next(page, performance.now()), levels: levelsIn(page), refusal };
  }
}

function levelsIn(page: MetricsPage): Levels {
  const level = (name: string) => page.sum(name) ?? 0;
  return {
    waiting: level('provec_gateway_waiting_requests'),
    queuedWrites: level('provec_shard_queue_requests'),
    unindexed: level('provec_shards_unindexed_records'),
    mismatches: level('provec_shard_copy_mismatches'),
  };
}

/** Returns in words why `/metrics` was not readable. */
function refusalOf(error: unknown): string {
  if (!(error instanceof APIStatusError)) return failureOf(error)?.text ?? 'The request was called off.';
  if (error.status === 401)
    return 'With a health port, metrics take the operator’s token here, and this gateway refuses it: was it started with another one?';
  if (error.status === 403 || error.status === 404)
    return `Something in front of the service keeps /metrics back (HTTP ${error.status}). Let requests from this page through, or use provec top.`;
  return `/metrics answered with HTTP ${error.status}.`;
}

/** Counts shards only while a node is in trouble: each collection takes reads of the store. */
export async function readStanding(hasTrouble: boolean, signal: AbortSignal): Promise<Standing> {
  const [{ anchors }, ledger, shards] = await Promise.all([
    askOperator('listAllAnchors', { query: { state: 'halted', limit: HALTED_SHOWN } }, signal),
    askOperator('getLedger', { query: {} }, signal),
    hasTrouble ? countShards(signal) : null,
  ]);
  return { halted: anchors, ledger, shards };
}

async function countShards(signal: AbortSignal): Promise<Observed['shards']> {
  const { shards } = await askOperator('listShards', { query: { limit: SHARDS_COUNTED } }, signal);
  const count = (state: Api.Shard['state']) => shards.filter((shard) => shard.state === state).length;
  return { unreachable: count('unreachable'), unclaimed: count('unclaimed') };
}

/** Whether a node does not answer, or serves nothing. */
export const hasTrouble = ({ shardNodes }: Api.ListNodesResult): boolean =>
  shardNodes.some(({ error, lease }) => error !== null || !lease);
