import {
  type AnchorHistoryItem,
  type AnchoringInstance,
  type AnchorRow,
  type AnchorStanding,
  type AnchorStore,
  type OpenAnchor,
  standingOf,
} from '../anchors.ts';
import type { Environment, Table } from './environment.ts';
import { decodeAnchor, decodeRow, encodeAnchor, encodeRow } from './row-codec.ts';
import { idPart, keyAfter, numberPart, prefixRange } from './row-key.ts';

const PAGE_ROWS = 200;
const OPEN_PAGE_ROWS = 1_000;
const REMOVE_SLICE_ROWS = 256;

/** Tables: collection -> outbox row; for each standing but 'settled', collection -> the row in brief; collection + version -> one confirmed anchor; instance -> its beat. */
export class LmdbAnchors implements AnchorStore {
  readonly #env: Environment;
  readonly #rows: Table;
  readonly #open: Record<Exclude<AnchorStanding, 'settled'>, Table>;
  readonly #history: Table;
  readonly #instances: Table;

  constructor(env: Environment) {
    this.#env = env;
    this.#rows = env.table('anchors');
    this.#open = { due: env.table('anchors-due'), halted: env.table('anchors-halted') };
    this.#history = env.table('anchor-history');
    this.#instances = env.table('anchoring-instances');
  }

  async get(collectionId: string): Promise<AnchorRow | null> {
    return this.#env.read(() => this.#row(idPart(collectionId)));
  }

  async getMany(collectionIds: string[]): Promise<AnchorRow[]> {
    const keys = collectionIds.map(idPart);
    return this.#env.read(() => keys.map((key) => this.#row(key)).filter((row) => row !== null));
  }

  async add(row: AnchorRow): Promise<boolean> {
    const key = idPart(row.collectionId);
    const value = encodeAnchor(row);
    return this.#env.write(() => {
      if (this.#row(key) !== null) return false;
      this.#write(key, value, row);
      return true;
    });
  }

  async put(row: AnchorRow, history?: AnchorHistoryItem): Promise<boolean> {
    const key = idPart(row.collectionId);
    const value = encodeAnchor(row);
    return this.#env.write(() => {
      if (this.#row(key)?.revision !== row.revision - 1) return false;
      this.#write(key, value, row);
      if (history) this.#history.putSync(Buffer.concat([key, numberPart(history.version)]), encodeRow(history));
      return true;
    });
  }

  all(): AsyncIterable<AnchorRow[]> {
    return this.#pages(this.#rows, PAGE_ROWS, decodeAnchor);
  }

  open(standing: Exclude<AnchorStanding, 'settled'>): AsyncIterable<OpenAnchor[]> {
    return this.#pages(this.#open[standing], OPEN_PAGE_ROWS, (bytes) => decodeRow<OpenAnchor>(bytes, 'An open anchor'));
  }

  async history(collectionId: string, limit: number, beforeVersion: number | null): Promise<AnchorHistoryItem[]> {
    if (limit <= 0) return [];
    const key = idPart(collectionId);
    // A reverse range runs from `start` (included) down to `end` (excluded); the bare collection key is below all of its versions.
    const newest = beforeVersion === null ? Number.MAX_SAFE_INTEGER : beforeVersion - 1;
    if (newest < 0) return [];
    const range = { start: Buffer.concat([key, numberPart(newest)]), end: key, reverse: true, limit };
    return this.#env.read(() =>
      [...this.#history.getRange(range)].map(({ value }) => decodeRow<AnchorHistoryItem>(value, 'An anchor')),
    );
  }

  async remove(collectionId: string, revision: number): Promise<boolean> {
    const key = idPart(collectionId);
    const isOther = () => {
      const row = this.#row(key);
      return row !== null && row.revision !== revision;
    };
    const removeSlice = () => {
      if (isOther()) return null;
      const versions = this.#history.getKeys({ ...prefixRange(key), limit: REMOVE_SLICE_ROWS });
      const keys = [...versions].map((version) => Buffer.from(version));
      for (const version of keys) this.#history.removeSync(version);
      return keys.length;
    };
    // The row goes last: while it is there, whoever is interrupted comes back.
    let removed: number | null;
    do removed = await this.#env.write(removeSlice);
    while (removed === REMOVE_SLICE_ROWS);
    if (removed === null) return false;
    return this.#env.write(() => {
      if (isOther()) return false;
      for (const table of [this.#open.due, this.#open.halted, this.#rows]) table.removeSync(key);
      return true;
    });
  }

  async beat(instance: AnchoringInstance): Promise<void> {
    await this.#env.write(() => this.#instances.putSync(idPart(instance.instance), encodeRow(instance)));
  }

  async instances(): Promise<AnchoringInstance[]> {
    return this.#env.read(() =>
      [...this.#instances.getRange({})].map(({ value }) => decodeRow<AnchoringInstance>(value, 'An instance')),
    );
  }

  async endInstance(instance: string): Promise<void> {
    await this.#env.write(() => this.#instances.removeSync(idPart(instance)));
  }

  #write(key: Buffer, value: Buffer, row: AnchorRow): void {
    this.#rows.putSync(key, value);
    const standing = standingOf(row);
    const { collectionId, wantedAt } = row;
    for (const [name, table] of Object.entries(this.#open)) {
      if (name === standing) table.putSync(key, encodeRow({ collectionId, wantedAt } satisfies OpenAnchor));
      else table.removeSync(key);
    }
  }

  async *#pages<T>(table: Table, pageRows: number, decode: (bytes: Uint8Array) => T): AsyncIterable<T[]> {
    let start: Buffer | null = Buffer.of(0);
    while (start !== null) {
      const from: Buffer = start;
      const page = this.#env.read(() =>
        [...table.getRange({ start: from, limit: pageRows })].map(({ key, value }) => ({
          key: Buffer.from(key),
          row: decode(value),
        })),
      );
      if (page.length > 0) yield page.map(({ row }) => row);
      start = page.length === pageRows ? keyAfter(page[pageRows - 1].key) : null;
    }
  }

  #row(key: Buffer): AnchorRow | null {
    const bytes = this.#rows.getBinary(key);
    return bytes === undefined ? null : decodeAnchor(bytes);
  }
}
