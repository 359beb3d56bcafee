import type { ShardLog } from '../log.ts';
import type { StoreThread } from './store-thread.ts';

const TRIM_SLICE_ENTRIES = 256;
/** Size of a slice, and so the longest wait of an append behind an audit. */
const AUDIT_SLICE_BYTES = 2 * 2 ** 20;

/** The log, called from the main thread. */
export function logOf(thread: StoreThread): ShardLog {
  const { trimSlice, auditSlice } = thread.remote('log');
  const own: Pick<ShardLog, 'append' | 'audit' | 'trim'> = {
    async append(entry) {
      if (entry.head.seq !== entry.seq) throw new RangeError('the head of an entry must have the seq of the entry');
      // Copies: the caller keeps its buffers, and transferring a view would transfer the whole
      // buffer behind it.
      const body = new Uint8Array(entry.body);
      const head = { ...entry.head, hash: new Uint8Array(entry.head.hash) };
      return thread.call('log', 'append', [{ ...entry, head, body }], body.byteLength, [body.buffer]);
    },

    async audit(shard, throughSeq) {
      let slice = await auditSlice(shard, null, throughSeq, AUDIT_SLICE_BYTES);
      while (slice.after) slice = await auditSlice(shard, slice.after, throughSeq, AUDIT_SLICE_BYTES);
      return slice.altered;
    },

    async trim(shard, throughSeq) {
      while ((await trimSlice(shard, throughSeq, TRIM_SLICE_ENTRIES)) === TRIM_SLICE_ENTRIES);
    },
  };
  return thread.remote('log', own);
}
