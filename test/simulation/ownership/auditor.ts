import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { ShardAudit } from './shard-audit.ts';
import type { Rows } from './simulated-database.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { Faults } from './violations.ts';

/** Audits every shard of the collection. Also checks that nodes drop no copy that was correct. */
export class Auditor {
  readonly #faults = new Faults();
  readonly #shards: Map<ShardKey, ShardAudit>;

  constructor(specs: ShardSpec[]) {
    const audits = specs.map((spec): [ShardKey, ShardAudit] => [
      shardKey(spec.collectionId, spec.index),
      new ShardAudit(spec, this.#faults),
    ]);
    this.#shards = new Map(audits);
  }

  get faults(): string[] {
    return this.#faults.list;
  }

  of(shard: ShardKey): ShardAudit {
    return this.#shards.get(shard)!;
  }

  get commits(): number {
    return this.#sum(({ commits }) => commits);
  }

  /** Number of answered requests. */
  get operations(): number {
    return this.#sum(({ clients }) => clients.size);
  }

  /** Notes that something was stored; the next step checks it. */
  stored(): void {
    for (const audit of this.#shards.values()) audit.stored();
  }

  /** Records that a node found stored data that differs from what was recorded. */
  contradicted(reason: string): void {
    this.#faults.add(`contradiction: ${reason}`);
  }

  /** Checks the memory of nodes that are idle. */
  look(nodes: readonly SimulatedNode[]): void {
    for (const node of nodes) {
      if (node.wire.isDead || node.hasLeft) continue;
      for (const leftover of node.leftovers()) this.#faults.add(leftover);
    }
  }

  step(rows: Rows, nodes: readonly SimulatedNode[]): void {
    for (const [shard, audit] of this.#shards) audit.step(rows.of(shard), nodes);
    for (const node of nodes) {
      if (node.wire.isDead) continue;
      for (const { shard, head } of node.changedCopies()) this.of(shard).copied(node.name, head);
      if (node.mismatches > 0 && !node.wasSpoilt)
        this.#faults.add(`${node.name} threw a copy away that nothing was wrong with`);
    }
  }

  #sum(countOf: (audit: ShardAudit) => number): number {
    let total = 0;
    for (const audit of this.#shards.values()) total += countOf(audit);
    return total;
  }
}
