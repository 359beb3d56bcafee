import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { CheckpointStore } from '../../../store/checkpoints.ts';
import type { ShardLog } from '../../../store/log.ts';
import type { LeaseStore, OwnerStore } from '../../../store/owners.ts';
import { type Store, StoreError } from '../../../store/port.ts';
import type { RecordStore } from '../../../store/records.ts';
import type { Decision, Rows, ShardRows } from './simulated-database.ts';
import type { Wire } from './simulated-network.ts';

const ENTRIES_PER_READ = 3;
const CHECKPOINTS_KEPT = 2;
/** Chance that an append is refused for lack of space. */
const FULL = 0.002;

/** Defects of a store that the simulation must find. */
export interface StoreDefects {
  /** A lower seq overwrites a higher one. */
  overwritesHigherRows?: boolean;
  /** A deleted record leaves no tombstone row. */
  forgetsDeletes?: boolean;
  /** An append at an existing seq replaces the entry. */
  overwritesEntries?: boolean;
  /** The mark is raised before the rows are written. */
  marksFirst?: boolean;
  /** Trimming removes every entry. */
  trimsAll?: boolean;
  /** Reads return the primary's state, although a failover may take it back. */
  readsMinority?: boolean;
  /** The same for the reads of copies. */
  copiesReadMinority?: boolean;
}

export interface SimulatedStoreOptions {
  collection: CollectionRow;
  random: () => number;
  /** The primary's state. */
  primary(): Rows;
  /** Folder for checkpoints. */
  folder(): string;
  defects: StoreDefects;
  onContradiction(reason: string): void;
}

const UNCHANGED: Decision<void> = { result: undefined, set: null };

/** The parts of the store that shards need, for one collection, over the nodes' connections. */
export class SimulatedStore {
  readonly #collection: CollectionRow;
  readonly #onContradiction: (reason: string) => void;
  readonly #defects: StoreDefects;
  readonly #random: () => number;
  readonly #primary: () => Rows;
  /** Checkpoints by folder. */
  readonly #checkpoints = new Map<string, { shard: ShardKey; seq: number }>();
  /** Folders handed over to the store, whether or not the writer knows of it. */
  readonly #put = new Set<string>();
  readonly #folder: () => string;

  constructor({ collection, random, primary, folder, defects, onContradiction }: SimulatedStoreOptions) {
    this.#collection = collection;
    this.#random = random;
    this.#primary = primary;
    this.#folder = folder;
    this.#defects = defects;
    this.#onContradiction = onContradiction;
  }

  /** The store as one node reaches it, for held shards or, with `forCopies`, for copies. */
  over(wire: Wire, forCopies = false): Store {
    const { readsMinority, copiesReadMinority } = this.#defects;
    const parts = {
      log: this.#log(wire, readsMinority || (forCopies && copiesReadMinority) || false),
      records: this.#records(wire),
      owners: owners(wire),
      leases: leases(wire),
      checkpoints: this.#checkpointsOver(wire),
      catalog: { getCollection: () => wire.read(({ isDropped }) => (isDropped ? null : this.#collection)) },
      anchors: { get: async () => null },
      contradictions: {
        record: async (_shard: string, { reason }: { reason: string }) => this.#onContradiction(reason),
        list: async () => [],
      },
      freeBytes: async () => null,
      diskBytes: async () => null,
    };
    return parts as unknown as Store;
  }

  #log(wire: Wire, readsMinority: boolean): ShardLog {
    const read = <T>(shard: ShardKey, look: (rows: ShardRows) => T): Promise<T> =>
      wire.read((rows) => look((readsMinority ? this.#primary() : rows).of(shard)));
    return {
      append: (entry) => {
        if (this.#random() < FULL) return Promise.reject(new StoreError('capacity', 'no room'));
        return wire.write((rows) => {
          const { log } = rows.of(entry.shard);
          if (entry.seq > log.length + 1) throw new Error(`a gap before ${entry.seq}`);
          if (log[entry.seq - 1] !== undefined && !this.#defects.overwritesEntries)
            return { result: 'conflict', set: null };
          const at = entry.seq - 1;
          return { result: 'committed', set: (rows) => rows.of(entry.shard).log.splice(at, 1, entry) };
        });
      },
      read: (shard, afterSeq, maxBytes) =>
        read(shard, ({ log, trimmedThrough }) => {
          const from = Math.max(afterSeq, trimmedThrough);
          return log.slice(from, from + (maxBytes === 1 ? 1 : ENTRIES_PER_READ));
        }),
      audit: async () => null,
      head: (shard) => read(shard, ({ log }) => log.at(-1)?.head ?? null),
      heads: async () => new Map(),
      trim: (shard, throughSeq) =>
        wire.write(() => ({
          result: undefined,
          set: (all) => {
            const rows = all.of(shard);
            const through = this.#defects.trimsAll ? rows.log.length : throughSeq;
            rows.trimmedThrough = Math.max(through, rows.trimmedThrough);
          },
        })),
      firstSeq: (shard) =>
        read(shard, ({ log, trimmedThrough }) => (trimmedThrough < log.length ? trimmedThrough + 1 : null)),
    };
  }

  /** Writes rows one by one and the mark last: nothing that needs several rows is atomic. */
  #records(wire: Wire): RecordStore {
    const { overwritesHigherRows, forgetsDeletes, marksFirst } = this.#defects;
    const raiseMark = (shard: ShardKey, throughSeq: number): Promise<void> =>
      wire.write((present) => {
        if (present.of(shard).mark >= throughSeq) return UNCHANGED;
        return {
          result: undefined,
          set: (all) => {
            const rows = all.of(shard);
            rows.recordChanges++;
            rows.mark = throughSeq;
          },
        };
      });
    return {
      apply: async (shard, fromSeq, throughSeq, changes) => {
        const mark = await wire.read((rows) => rows.of(shard).mark);
        if (mark >= throughSeq || mark < fromSeq) return;
        if (marksFirst) await raiseMark(shard, throughSeq);
        for (const { id, record } of changes) {
          const seq = record?.seq ?? throughSeq;
          await wire.write((rows) => {
            const present = rows.of(shard).records.get(id);
            if (present !== undefined && present.seq >= seq && !overwritesHigherRows) return UNCHANGED;
            return {
              result: undefined,
              set: (all) => {
                const rows = all.of(shard);
                rows.recordChanges++;
                if (forgetsDeletes && !record) rows.records.delete(id);
                else rows.records.set(id, { seq, record });
              },
            };
          });
        }
        await raiseMark(shard, throughSeq);
      },
      appliedSeq: (shard) => wire.read((rows) => rows.of(shard).mark),
      removeForeign: async () => undefined,
      scan: async (shard) => {
        const throughSeq = await wire.read((rows) => rows.of(shard).mark);
        let reachedSeq = throughSeq;
        const batches = async function* () {
          const ids = await wire.read((rows) => [...rows.of(shard).records.keys()]);
          for (const id of ids) {
            const row = await wire.read((rows) => rows.of(shard).records.get(id));
            if (row) reachedSeq = Math.max(reachedSeq, row.seq);
            if (row?.record) yield [{ ...row.record, vector: row.record.vector.slice() }];
          }
        };
        return {
          throughSeq,
          batches: batches(),
          unreadable: [],
          stray: [],
          get reachedSeq() {
            return reachedSeq;
          },
        };
      },
    };
  }

  /** Files stay as written. A checkpoint exists once it is listed. */
  #checkpointsOver(wire: Wire): CheckpointStore {
    const listed = this.#checkpoints;
    const put = this.#put;
    return {
      stage: async () => mkdtempSync(join(this.#folder(), 'checkpoint-')),
      discard: async (folder) => {
        if (!put.has(folder)) rmSync(folder, { recursive: true, force: true });
      },
      put: async (shard, seq, folder) => {
        put.add(folder);
        await wire.write(() => {
          listed.set(folder, { shard, seq });
          return UNCHANGED;
        });
        return { seq, bytes: 0, createdAt: '' };
      },
      list: (shard) =>
        wire.read(() => {
          const own = [...listed.values()].filter((one) => one.shard === shard);
          const newest = own.sort((a, b) => b.seq - a.seq).slice(0, CHECKPOINTS_KEPT);
          return newest.map(({ seq }) => ({ seq, bytes: 0, createdAt: '' }));
        }),
      prune: (shard, seq) =>
        wire.write(() => {
          for (const [folder, one] of listed) if (one.shard === shard && one.seq < seq) listed.delete(folder);
          return UNCHANGED;
        }),
      release: async () => undefined,
      fetch: (shard, seq) =>
        wire.read(() => {
          const found = [...listed].find(([, one]) => one.shard === shard && one.seq === seq);
          return found ? { folder: found[0], files: [] } : null;
        }),
    };
  }
}

function owners(wire: Wire): OwnerStore {
  return {
    get: (shard) => wire.read((rows) => rows.of(shard).owner),
    list: async () => [],
    claim: (row) =>
      wire.write((present) => {
        if ((present.of(row.shard).owner?.epoch ?? 0) !== row.epoch - 1) return { result: false, set: null };
        return {
          result: true,
          set: (rows) => {
            rows.of(row.shard).owner = row;
          },
        };
      }),
    release: (shard, epoch, to) =>
      wire.write((present) => {
        const { owner } = present.of(shard);
        if (owner?.epoch !== epoch) return UNCHANGED;
        return {
          result: undefined,
          set: (rows) => {
            rows.of(shard).owner = { ...owner, holder: to ?? null };
          },
        };
      }),
  };
}

function leases(wire: Wire): LeaseStore {
  return {
    begin: (row) =>
      wire.write(({ leases }) => {
        if (leases.has(row.incarnation)) return UNCHANGED;
        return { result: undefined, set: ({ leases }) => void leases.set(row.incarnation, row) };
      }),
    renew: (incarnation, sent, draining) =>
      wire.write(({ leases }) => {
        const row = leases.get(incarnation);
        if (!row) return { result: false, set: null };
        const beat = Math.max(row.beat, sent);
        return { result: true, set: ({ leases }) => void leases.set(incarnation, { ...row, beat, draining }) };
      }),
    list: () => wire.read(({ leases }) => [...leases.values()]),
    get: (incarnations) =>
      wire.read(({ leases }) => incarnations.flatMap((incarnation) => leases.get(incarnation) ?? [])),
    end: (incarnation, beat) =>
      wire.write(({ leases }) => {
        const row = leases.get(incarnation);
        if (row && beat !== undefined && row.beat !== beat) return { result: false, set: null };
        return { result: true, set: ({ leases }) => void leases.delete(incarnation) };
      }),
  };
}
