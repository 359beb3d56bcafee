/**
 * Thrown by a node that does not hold the shard. `node` is the holder, or null if unknown. Never
 * reaches a client: the router retries.
 */
export class ShardMoved extends Error {
  readonly node: string | null;

  constructor(node: string | null) {
    super(node === null ? 'No node holds the shard.' : 'Another node holds the shard.');
    this.name = 'ShardMoved';
    this.node = node;
  }
}
