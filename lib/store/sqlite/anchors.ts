import type {
  AnchorHistoryItem,
  AnchoringInstance,
  AnchorRow,
  AnchorStanding,
  AnchorStore,
  OpenAnchor,
} from '../anchors.ts';
import type { ForgedRows } from '../forged-rows.ts';
import { decodeAnchor, encodeAnchor } from './anchor-codec.ts';
import { pages } from './pages.ts';
import type { Remote } from './requests.ts';
import { decodeRow } from './row-codec.ts';
import type { StoreThread } from './store-thread.ts';
import type { StoredItem } from './thread/anchor-tables.ts';

const PAGE_ROWS = 200;
const OPEN_PAGE_ROWS = 1_000;
const REMOVE_SLICE_ROWS = 256;

/** The anchors' outbox, as the main thread sees it. */
export class SqliteAnchors implements AnchorStore {
  readonly #tables: Remote<'anchors'>;
  readonly #forged: ForgedRows;

  constructor(thread: StoreThread, forged: ForgedRows) {
    this.#tables = thread.remote('anchors');
    this.#forged = forged;
  }

  async get(collectionId: string): Promise<AnchorRow | null> {
    const row = await this.#tables.get(collectionId);
    return row === null ? null : decodeAnchor(row);
  }

  async getMany(collectionIds: string[]): Promise<AnchorRow[]> {
    return (await this.#tables.getMany(collectionIds)).map(decodeAnchor);
  }

  async add(row: AnchorRow): Promise<boolean> {
    return this.#tables.add(encodeAnchor(row));
  }

  async put(row: AnchorRow, history?: AnchorHistoryItem): Promise<boolean> {
    return this.#tables.put(encodeAnchor(row), history);
  }

  async *all(): AsyncIterable<AnchorRow[]> {
    const read = (after: string) => this.#tables.rowsAfter(after, PAGE_ROWS);
    for await (const page of pages(read, ({ collection }) => collection, PAGE_ROWS)) yield page.map(decodeAnchor);
  }

  open(standing: Exclude<AnchorStanding, 'settled'>): AsyncIterable<OpenAnchor[]> {
    const read = (after: string) => this.#tables.openAfter(standing, after, OPEN_PAGE_ROWS);
    return pages(read, ({ collectionId }) => collectionId, OPEN_PAGE_ROWS);
  }

  async history(collectionId: string, limit: number, beforeVersion: number | null): Promise<AnchorHistoryItem[]> {
    const items: AnchorHistoryItem[] = [];
    for (let before = beforeVersion; items.length < limit; ) {
      const asked = limit - items.length;
      const rows = await this.#tables.history(collectionId, asked, before);
      items.push(...rows.flatMap((row) => this.#itemOf(collectionId, row) ?? []));
      if (rows.length < asked) break;
      before = rows.at(-1)!.version;
    }
    return items;
  }

  async remove(collectionId: string, revision: number): Promise<boolean> {
    // The row goes last: while it is there, whoever is interrupted comes back.
    let removed: number | null;
    do removed = await this.#tables.removeHistorySlice(collectionId, revision, REMOVE_SLICE_ROWS);
    while (removed === REMOVE_SLICE_ROWS);
    return removed !== null && this.#tables.remove(collectionId, revision);
  }

  beat(instance: AnchoringInstance): Promise<void> {
    return this.#tables.beat(instance);
  }

  instances(): Promise<AnchoringInstance[]> {
    return this.#tables.instances();
  }

  endInstance(instance: string): Promise<void> {
    return this.#tables.endInstance(instance);
  }

  /** Null, and told of, where it is none: it hides no other. */
  #itemOf(collectionId: string, { version, item }: StoredItem): AnchorHistoryItem | null {
    try {
      const decoded = decodeRow<AnchorHistoryItem>(item, 'An anchor');
      if (decoded.version === version) return decoded;
    } catch {
      // Said below.
    }
    this.#forged.tell('anchor', `${collectionId} ${version}`);
    return null;
  }
}
