import canonicalize from 'canonicalize';
import type { RecordProof } from '../../../../contracts/actions/collections.ts';
import { combineAll } from '../../../../lib/merkle/combine.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../../lib/merkle/map.ts';
import { collectionProof, terminalShard } from '../../../../lib/merkle/proof.ts';

/** A record as a client sends it. */
export interface SentRecord {
  id: string;
  values: number[];
  metadata: Record<string, unknown>;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/**
 * A collection of 2^shardBits shards that proves like the service: the real maps, without the
 * service.
 */
export class ProvingCollection {
  readonly shards: MerkleMap[];
  readonly #shardBits: number;
  readonly #records: { key: Buffer; vecHash: Buffer; metaHash: Buffer }[] = [];

  constructor(shardBits: number, records: SentRecord[]) {
    this.#shardBits = shardBits;
    this.shards = Array.from({ length: 2 ** shardBits }, () => new MerkleMap({ skipBits: shardBits }));
    for (const { id, values, metadata } of records) {
      const key = keyHashOf(id);
      const vecHash = vecHashOf(Float32Array.from(values));
      const metaHash = metaHashOf(canonicalize(metadata)!);
      const slot = this.#records.push({ key, vecHash, metaHash }) - 1;
      this.shards[this.shardOf(key)].set(key, leafHashOf(key, vecHash, metaHash), slot);
    }
  }

  shardOf(key: Buffer): number {
    return key[0] >> (8 - this.#shardBits);
  }

  prove(id: string): RecordProof {
    const key = keyHashOf(id);
    const nodes = this.shards.map((shard) => shard.root());
    const index = this.shardOf(key);
    const { siblings, terminal } = collectionProof(nodes, index, this.shards[terminalShard(nodes, index)].prove(key));
    const record = terminal && this.#records[terminal.slot];
    return {
      format: 'PV1',
      id,
      namespace: '',
      present: record?.key.equals(key) ?? false,
      merkleRoot: hex(combineAll(nodes).hash),
      version: 3,
      siblings: siblings.map(({ hash }) => hex(hash)),
      terminal: record && { key: hex(record.key), vecHash: hex(record.vecHash), metaHash: hex(record.metaHash) },
      collectionId: '6f1c1c0e-5a3e-4a34-9d2b-0d7d7b8a1f10',
      ledgerAddress: null,
      ledgerTx: null,
    };
  }
}
