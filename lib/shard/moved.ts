/**
 * The node that was asked does not hold the shard (any more); `node` does, or null when none is
 * known to. Never reaches a client: the router asks there.
 */
export class ShardMoved extends Error {
  readonly node: string | null;

  constructor(node: string | null) {
    super(node === null ? 'Nobody holds the shard.' : 'Another node holds the shard.');
    this.name = 'ShardMoved';
    this.node = node;
  }
}
