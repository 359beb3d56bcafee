import { randomUUID } from 'node:crypto';
import type { Context, ServiceSchema } from 'moleculer';
import type { ShardsActions } from '../../../../contracts/actions/shards.ts';
import { ProvecError } from '../../../../lib/errors.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../../lib/merkle/map.ts';
import { EMPTY_HEAD, type ShardHead } from '../../../../lib/shard/head.ts';
import { shardKey } from '../../../../lib/shard/key.ts';
import type { QueryOptions } from '../../../../lib/shard/match.ts';
import { shardIndexOf } from '../../../../services/collections/shard-routing.ts';
import type { Store } from '../../../../store/port.ts';

type Params<A extends keyof ShardsActions> = Context<ShardsActions[A]['params']>;

interface Held {
  id: string;
  values: Float32Array;
  metadata: string;
}

interface OpenShardStats {
  map: MerkleMap;
  records: Map<string, Held>;
  head: ShardHead;
}

/**
 * Shards in memory over a real log, with faults on request: the part of the shards service that the
 * router and the verifier use.
 */
export class ShardsInMemory {
  readonly shards = new Map<string, OpenShardStats>();
  /** Makes calls of `action` fail, on one shard or every one, before or after their effect. */
  fault: { action: string; index: number | 'every'; when: 'before' | 'after' } | null = null;
  /** Makes calls of `action` wait for `until` before they begin. */
  hang: { action: string; until: Promise<unknown> } | null = null;
  readonly calls: string[] = [];
  /** Each `openMaxMs` that calls had. */
  readonly waits = new Set<number | undefined>();
  readonly queries: QueryOptions[] = [];
  #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  of(collectionId: string, index: number, of = 1): OpenShardStats {
    const key = shardKey(collectionId, index);
    let shard = this.shards.get(key);
    if (!shard) {
      shard = { map: new MerkleMap({ skipBits: Math.log2(of) }), records: new Map(), head: EMPTY_HEAD };
      this.shards.set(key, shard);
    }
    return shard;
  }

  schema(): ServiceSchema {
    const handlers: { [A in keyof ShardsActions]?: (params: ShardsActions[A]['params']) => Promise<unknown> } = {
      'shards.upsert': ({ shard: spec, batch }) =>
        this.#write(spec.collectionId, spec.index, spec.of, spec.accountId, (shard) => {
          let created = 0;
          batch.ids.forEach((id, row) => {
            const values = batch.vectors.slice(row * batch.dimensions, (row + 1) * batch.dimensions);
            const metadata = batch.metadata[row];
            if (!shard.records.has(id)) created += 1;
            shard.records.set(id, { id, values, metadata });
            const key = keyHashOf(id);
            shard.map.set(key, leafHashOf(key, vecHashOf(values), metaHashOf(metadata)), shard.records.size);
          });
          return { upserted: batch.ids.length, deleted: 0, created };
        }),
      'shards.delete': ({ shard: spec, ids }) =>
        this.#write(spec.collectionId, spec.index, spec.of, spec.accountId, (shard) => {
          const deleted = ids.filter((id) => shard.records.delete(id) && shard.map.delete(keyHashOf(id)) >= 0).length;
          return { upserted: 0, deleted, created: -deleted };
        }),
      'shards.query': async ({ shard: spec, query }) => {
        this.queries.push(query);
        const found = [...this.of(spec.collectionId, spec.index, spec.of).records.values()].map((record) => ({
          id: record.id,
          score: record.values.reduce((sum, value, at) => sum + value * query.vector[at], 0),
        }));
        const items = found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, query.topK);
        return { items, rest: null };
      },
      'shards.fetch': async ({ shard: spec, ids }) => ({
        items: ids.flatMap((id) => this.of(spec.collectionId, spec.index, spec.of).records.get(id) ?? []),
        rest: null,
      }),
      'shards.countNew': async ({ shard: spec, ids }) =>
        ids.filter((id) => !this.of(spec.collectionId, spec.index, spec.of).records.has(id)).length,
      'shards.next': async () => ({ items: [], rest: null }),
      'shards.leave': async () => null,
      // Every record matches every filter.
      'shards.read': async ({ shard: spec, read: { op } }) => {
        const count = this.of(spec.collectionId, spec.index, spec.of).records.size;
        if (op === 'count') return { count };
        return { matched: count, changed: count, refused: null };
      },
      'shards.previewUpdates': async ({ shard: spec, updates }) => {
        const { records } = this.of(spec.collectionId, spec.index, spec.of);
        const matched = updates.filter(({ id }) => records.has(id)).length;
        return { matched, changed: matched, refused: null };
      },
      'shards.head': async ({ shard: spec }) => this.of(spec.collectionId, spec.index, spec.of).head,
      'shards.prove': async ({ shard: spec, id }) => {
        const { map, head, records } = this.of(spec.collectionId, spec.index, spec.of);
        if (records.size > 1 && shardIndexOf(id, spec.of) !== spec.index)
          return { head, siblings: [], terminal: null, present: false };
        const { siblings, terminal } = map.prove(keyHashOf(id));
        const held = terminal && [...records.values()].find((record) => keyHashOf(record.id).equals(terminal.key));
        const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
        return {
          head,
          siblings,
          present: records.has(id),
          terminal: held
            ? {
                key: hex(keyHashOf(held.id)),
                vecHash: hex(vecHashOf(held.values)),
                metaHash: hex(metaHashOf(held.metadata)),
              }
            : null,
        };
      },
      'shards.drop': async ({ collectionId }) => {
        for (const key of [...this.shards.keys()]) if (key.startsWith(collectionId)) this.shards.delete(key);
        await this.#store.dropCollectionData(collectionId);
        return null;
      },
    };
    const actions = Object.entries(handlers).map(([name, handler]) => [
      name.slice('shards.'.length),
      (ctx: Params<'shards.countNew'>) => {
        this.waits.add(ctx.params.openMaxMs);
        return this.#faulty(name, ctx.params, handler as (params: unknown) => Promise<unknown>);
      },
    ]);
    return { name: 'shards', actions: Object.fromEntries(actions) };
  }

  async #faulty(
    action: string,
    params: ShardsActions['shards.head']['params'],
    handler: (params: unknown) => Promise<unknown>,
  ): Promise<unknown> {
    this.calls.push(action);
    if (this.hang?.action === action) await this.hang.until;
    const isHit = [params.shard?.index ?? 0, 'every'].includes(this.fault?.index ?? -1);
    const hit = this.fault?.action === action && isHit;
    const refusal = new ProvecError('UNAVAILABLE', 'ordered by the test');
    if (hit && this.fault!.when === 'before') throw refusal;
    const result = await handler(params);
    if (hit) throw refusal;
    return result;
  }

  async #write(
    collectionId: string,
    index: number,
    of: number,
    accountId: string,
    change: (shard: OpenShardStats) => { upserted: number; deleted: number; created: number },
  ): Promise<unknown> {
    const shard = this.of(collectionId, index, of);
    const counts = change(shard);
    if (counts.upserted + counts.deleted === 0) return { ...counts, head: shard.head };
    const head: ShardHead = {
      ...shard.map.root(),
      seq: shard.head.seq + 1,
      version: shard.head.version + 1,
      count: shard.map.size,
    };
    await this.#store.log.append({
      shard: shardKey(collectionId, index),
      seq: head.seq,
      epoch: 1,
      entryId: randomUUID(),
      kind: 'write',
      head,
      tally: { accountId, month: '2026-11', writes: counts.upserted, vectors: counts.created },
      body: new Uint8Array(),
    });
    shard.head = head;
    return { ...counts, head };
  }
}
