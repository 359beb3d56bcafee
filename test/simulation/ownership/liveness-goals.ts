import { shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { SimulatedCluster } from './cluster.ts';
import type { Rows } from './simulated-database.ts';
import type { SimulatedNode } from './simulated-node.ts';

const PATIENCE_MS = 3_000;
const AGAIN_MS = 50;
const ANY_ID = 'any';

export interface Goal {
  reach(): Promise<void>;
  /** Describes what is missing when the goal was not reached in time. */
  missed(): string;
}

/** Goals that must be reachable once all trouble has ended. */
export class LivenessGoals {
  readonly #cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster;
  }

  /** Moves every shard from node to node, so that each node takes it once after the trouble. */
  everyNodeHadAll(): Goal {
    const { nodes, specs, time } = this.#cluster;
    let missing = '';
    return {
      reach: async () => {
        for (const spec of specs) {
          for (const at of nodes.keys()) {
            missing = `n${at} could not take shard ${spec.index} over`;
            while (!nodes[at]!.isLeaving && !nodes[at]!.serves(spec)) {
              const holder = this.#cluster.holder(spec);
              const taken = this.#cluster.ask(nodes[at]!, () => nodes[at]!.adopt(spec));
              const moved = holder && this.#cluster.ask(holder, () => holder.move(spec, nodes[at]!.name));
              await Promise.race([moved ?? taken, time.delay(PATIENCE_MS)]);
              await time.delay(AGAIN_MS);
            }
          }
        }
      },
      missed: () => missing,
    };
  }

  /** The records match the log, wherever the shard is. */
  caughtUp(): Goal {
    const { database, specs, time, nodes } = this.#cluster;
    return {
      reach: async () => {
        for (const spec of specs) {
          const key = shardKey(spec.collectionId, spec.index);
          const isBehind = (): boolean => database.durable.of(key).mark < database.durable.of(key).log.length;
          while (isBehind()) {
            const node = this.#cluster.holder(spec) ?? this.#cluster.pick(nodes);
            const done = this.#cluster.ask(node, () => node.materialise(spec));
            await Promise.race([done, time.delay(PATIENCE_MS)]);
            await time.delay(AGAIN_MS);
          }
        }
      },
      missed: () => 'the records never caught up with the log',
    };
  }

  /** Every shard has the required number of copies, all up to date and readable. */
  copiesCaughtUp(): Goal {
    const { specs, time } = this.#cluster;
    let missing = '';
    return {
      reach: async () => {
        for (const spec of specs) {
          for (let lacking = await this.#lacking(spec); lacking !== null; lacking = await this.#lacking(spec)) {
            missing = lacking;
            await time.delay(PATIENCE_MS / 10);
          }
        }
      },
      missed: () => missing,
    };
  }

  /** Some time after the collection was deleted, no node has any of it in memory. */
  dropped(): Goal {
    const { database, nodes, specs, time } = this.#cluster;
    const collectionId = specs[0]!.collectionId;
    const left = (): SimulatedNode[] =>
      nodes.filter((node) => !node.wire.isDead && !node.hasLeft && node.hasAny(collectionId));
    return {
      reach: async () => {
        const change = (set: (rows: Rows) => void): Promise<unknown> =>
          new Promise((resolve) => database.write(() => ({ result: null, set }), resolve));
        await change((rows) => {
          rows.isDropped = true;
        });
        // One node after another, while holders still have followers that already dropped their
        // copies.
        for (const node of nodes) {
          await this.#cluster.ask(node, () => node.forget(collectionId), { timeoutMs: PATIENCE_MS });
          await time.delay(AGAIN_MS);
        }
        await change((rows) => rows.clear());
        while (left().length > 0) await time.delay(PATIENCE_MS);
      },
      missed: () => `${left().map(({ name }) => name)} have a deleted collection in memory`,
    };
  }

  /** The reason why the shard lacks copies; null when it has them all. */
  async #lacking(spec: ShardSpec): Promise<string | null> {
    const { database, nodes } = this.#cluster;
    const key = shardKey(spec.collectionId, spec.index);
    const holder = this.#cluster.holder(spec);
    if (!holder?.serves(spec)) {
      const node = this.#cluster.pick(nodes);
      await this.#cluster.ask(node, () => node.adopt(spec), { timeoutMs: PATIENCE_MS });
      return 'nobody holds the shard';
    }
    const others = nodes.filter((node) => node !== holder && !node.wire.isDead && !node.isLeaving);
    const due = Math.min(spec.replicas ?? 0, others.length);
    const end = database.durable.of(key).log.length;
    const complete = others.filter((node) => node.copies().some((copy) => copy.shard === key && copy.seq === end));
    const followers = holder.followersOf(key).flatMap(({ node, seq }) => (seq === end ? [node] : []));
    const names = complete.map(({ name }) => name).filter((name) => followers.includes(name));
    if (names.length < due) return `of ${due} copies there are those of ${names} of ${followers} at ${end}`;
    for (const node of complete) {
      const { end: how } = await this.#cluster.ask(node, () => node.readCopy(spec, ANY_ID), { timeoutMs: PATIENCE_MS });
      if (how !== 'done') return `the copy of ${node.name} cannot be read`;
    }
    return null;
  }
}
