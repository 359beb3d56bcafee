/**
 * A change of all records of a shard that match, made in rounds: a log entry has a bounded size.
 *
 * Promises: it ends, because each round takes what is as old as the first one found it; each round
 * is all or nothing. How it fails: the rounds that were committed stand, and the error says that
 * a part was changed, or nothing of it: sending the request again changes the rest.
 */
import { type Caller, call } from '../../lib/actions/call.ts';
import { isProvecError, ProvecError } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { MetadataMerge, ShardChange } from '../../lib/shard/change.ts';
import type { RecordScope } from '../../lib/shard/scope.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import type { WriteAck } from '../../lib/shard/write-ack.ts';
import { isRefusal } from './write-quota.ts';

/** Records of one log entry. */
const ROUND_MAX = { 'delete matching': 10_000, 'merge matching': 1_000 };

/**
 * UNAVAILABLE: another request changes the rest, or says what is wrong with it, as where a record
 * grew after all were looked at.
 */
export class PartlyChanged extends ProvecError {
  constructor(cause: unknown) {
    const isFinal = isProvecError(cause) && cause.status === 400;
    const rest = isFinal
      ? ': one was written meanwhile whose metadata would now become too long. Send the request again; ' +
        'if that is still so, a 400 names the record.'
      : '; send the request again for the others.';
    super('UNAVAILABLE', `The service changed only some of the records${rest}`, { retryAfterSeconds: 1, cause });
  }
}

export type MatchingMerge = MetadataMerge & RecordScope & { metadataMaxBytes: number };
/** What is done to the records that match. */
type MatchingChange = ({ kind: 'delete matching' } & RecordScope) | ({ kind: 'merge matching' } & MatchingMerge);

interface RoundTerms {
  shard: ShardSpec;
  waitMs: number;
  openMaxMs: number | undefined;
}

/**
 * Changes at most `countMax` records, and answers for all rounds together. `options` are of the
 * first call: once something is committed the shard is waited for.
 */
export async function changeInRounds(
  caller: Caller,
  { shard, waitMs, openMaxMs }: RoundTerms,
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
    total = together(total, ack);
  }
  return total;
}

/** Goes on where the later one does. */
function together(before: WriteAck, after: WriteAck): WriteAck {
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
