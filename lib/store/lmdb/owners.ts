import type { ShardKey } from '../../shard/shard-key.ts';
import type { Holder, LeaseRow, LeaseStore, LeaseUse, OwnerRow, OwnerStore } from '../owners.ts';
import type { Environment, Table } from './environment.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import { idPart, prefixRange, shardPart } from './row-key.ts';

/** Table: shard -> who holds it. */
export class LmdbOwners implements OwnerStore {
  readonly #env: Environment;
  readonly #rows: Table;

  constructor(env: Environment) {
    this.#env = env;
    this.#rows = env.table('owners');
  }

  async get(shard: ShardKey): Promise<OwnerRow | null> {
    return this.#env.read(() => this.#row(shardPart(shard)));
  }

  async list(collectionId: string): Promise<OwnerRow[]> {
    return this.#env.read(() =>
      [...this.#rows.getRange(prefixRange(idPart(collectionId)))].map(({ value }) =>
        decodeRow<OwnerRow>(value, 'An owner'),
      ),
    );
  }

  async claim(row: OwnerRow): Promise<boolean> {
    const key = shardPart(row.shard);
    return this.#env.write(() => {
      if ((this.#row(key)?.epoch ?? 0) !== row.epoch - 1) return false;
      this.#rows.putSync(key, encodeRow(row));
      return true;
    });
  }

  async release(shard: ShardKey, epoch: number, to: Holder | null = null): Promise<void> {
    const key = shardPart(shard);
    await this.#env.write(() => {
      const row = this.#row(key);
      if (row?.epoch === epoch) this.#rows.putSync(key, encodeRow({ ...row, holder: to }));
    });
  }

  /** The tables whose keys start with the collection. */
  get tables(): Table[] {
    return [this.#rows];
  }

  #row(key: Buffer): OwnerRow | null {
    const bytes = this.#rows.getBinary(key);
    return bytes === undefined ? null : decodeRow<OwnerRow>(bytes, 'An owner');
  }
}

/** Table: incarnation -> lease. */
export class LmdbLeases implements LeaseStore {
  readonly #env: Environment;
  readonly #rows: Table;

  constructor(env: Environment) {
    this.#env = env;
    this.#rows = env.table('leases');
  }

  async begin(row: LeaseRow): Promise<void> {
    const key = idPart(row.incarnation);
    await this.#env.write(() => {
      if (this.#row(key) === null) this.#rows.putSync(key, encodeRow(row));
    });
  }

  async renew(incarnation: string, beat: number, draining: boolean, use?: LeaseUse): Promise<boolean> {
    const key = idPart(incarnation);
    return this.#env.write(() => {
      const row = this.#row(key);
      if (row === null) return false;
      this.#rows.putSync(key, encodeRow({ ...row, beat: Math.max(row.beat, beat), draining, ...(use && { use }) }));
      return true;
    });
  }

  async list(): Promise<LeaseRow[]> {
    return this.#env.read(() => [...this.#rows.getRange({})].map(({ value }) => decodeRow<LeaseRow>(value, 'A lease')));
  }

  async get(incarnations: readonly string[]): Promise<LeaseRow[]> {
    return this.#env.read(() => incarnations.flatMap((incarnation) => this.#row(idPart(incarnation)) ?? []));
  }

  async end(incarnation: string, beat?: number): Promise<boolean> {
    const key = idPart(incarnation);
    return this.#env.write(() => {
      const row = this.#row(key);
      if (row !== null && beat !== undefined && row.beat !== beat) return false;
      this.#rows.removeSync(key);
      return true;
    });
  }

  #row(key: Buffer): LeaseRow | null {
    const bytes = this.#rows.getBinary(key);
    return bytes === undefined ? null : decodeRow<LeaseRow>(bytes, 'A lease');
  }
}
