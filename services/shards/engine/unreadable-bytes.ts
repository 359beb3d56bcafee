/**
 * Bytes that cannot be a record or a log entry of the shard. A class of its own, because running
 * out of memory is a RangeError, too, and says nothing about the bytes.
 */
export class UnreadableBytes extends RangeError {
  override name = 'UnreadableBytes';
}
