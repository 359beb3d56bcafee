import { hash } from 'node:crypto';

/** The shard of a record: the first bits of the hash of its id. */
export function shardIndexOf(id: string, shards: number): number {
  const [first] = hash('sha256', `PV1key\0${id}`, 'buffer');
  return first! >> (8 - Math.log2(shards));
}
