import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardLog } from '../../../store/log.ts';
import type { ReplayedEntry } from '../engine/port.ts';

const BATCH_MAX_BYTES = 8 * 2 ** 20;

/**
 * Yields the entries from `afterSeq` + 1 through `throughSeq` in batches of some MiB. Stops at a
 * gap, because the state after a gap cannot be known.
 */
export async function* contiguousEntries(
  log: Pick<ShardLog, 'read'>,
  key: ShardKey,
  afterSeq: number,
  throughSeq: number,
): AsyncGenerator<ReplayedEntry[]> {
  for (let at = afterSeq; at < throughSeq; ) {
    const read = await log.read(key, at, BATCH_MAX_BYTES);
    const end = read.findIndex(({ seq }, i) => seq !== at + 1 + i || seq > throughSeq);
    const run = end < 0 ? read : read.slice(0, end);
    if (run.length === 0) return;
    yield run.map(({ seq, kind, head, body }) => ({ seq, kind, head, body }));
    at += run.length;
  }
}
