/**
 * Changes all matching records of a shard in rounds, since a log entry has a bounded size.
 *
 * The rounds end, because each one changes only records that are no newer than the first round saw.
 * Each round is all or nothing. If a round fails, the earlier ones stay committed, and the error
 * says so: sending the request again changes the rest.
 */
import { type Caller, call } from '../../../contracts/actions/call.ts';
import { isProvecError, ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { MetadataMerge, ShardChange } from '../../../lib/shard/change.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { WriteAck } from '../../../lib/shard/write-ack.ts';
import { isRefusal } from './write-quota.ts';

/** Maximum number of records in one log entry. */
const ROUND_MAX = { 'delete matching': 10_000, 'merge matching': 1_000 };

/**
 * Failure after some records were changed. UNAVAILABLE, since sending the request again changes the
 * rest, or reports what is wrong with it, such as a record that grew after the preview.
 */
export class PartlyChanged extends ProvecError {
  constructor(cause: unknown) {
    const isFinal = isProvecError(cause) && cause.status === 400;
    const rest = isFinal
      ? ': meanwhile a record was written whose metadata would become too long. Send the request again; ' +
        'if it still would, the response is a 400.'
      : '; send the request again for the others.';
    super('UNAVAILABLE', `The service changed only some of the records${rest}`, { retryAfterSeconds: 1, cause });
  }
}

export type MatchingMerge = MetadataMerge & RecordScope & { metadataMaxBytes: number };
type MatchingChange = ({ kind: 'delete matching' } & RecordScope) | ({ kind: 'merge matching' } & MatchingMerge);

/** Parameters that every shard gets with its part of a write. */
export interface RoundOptions {
  shard: ShardSpec;
  waitMs: number;
  openMaxMs: number | undefined;
}

/**
 * Changes at most `countMax` records and returns one acknowledgement for all rounds. `options`
 * apply to the first call only: once a round is committed, later calls wait for the shard.
 */
export async function changeInRounds(
  caller: Caller,
  { shard, waitMs, openMaxMs }: RoundOptions,
  change: MatchingChange,
  countMax: number,
  options: Record<string, unknown>,
): Promise<WriteAck> {
  const round = (throughSeq: number | null, left: number): ShardChange => {
    return { ...change, throughSeq, max: Math.min(ROUND_MAX[change.kind], left) };
  };
  const first = { shard, change: round(null, countMax), waitMs, openMaxMs };
  let total = await call(caller, 'shards.change', first, options);
  while (total.next) {
    const left = countMax - (total.matched ?? 0);
    if (left <= 0) break;
    const next = { ...round(total.next.throughSeq, left), fields: [] };
    const params = { shard, change: next, waitMs: INTERNAL_LIMITS.actionTimeoutMs };
    const ack = await call(caller, 'shards.change', params, { timeout: 0 }).catch((error: unknown) => {
      throw isRefusal(error) ? new PartlyChanged(error) : error;
    });
    total = addAcks(total, ack);
  }
  return total;
}

/** Adds up the counts; the later acknowledgement says where to continue. */
function addAcks(before: WriteAck, after: WriteAck): WriteAck {
  const sum = (name: 'upserted' | 'deleted' | 'created' | 'matched'): number =>
    (before[name] ?? 0) + (after[name] ?? 0);
  return {
    ...after,
    upserted: sum('upserted'),
    deleted: sum('deleted'),
    created: sum('created'),
    matched: sum('matched'),
    fields: before.fields,
  };
}
