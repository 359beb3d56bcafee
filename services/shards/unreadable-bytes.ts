/**
 * Thrown for bytes that cannot be a record or log entry of the shard. It is a separate class
 * because running out of memory also throws RangeError, which says nothing about the bytes.
 */
export class UnreadableBytes extends RangeError {
  override name = 'UnreadableBytes';
}
