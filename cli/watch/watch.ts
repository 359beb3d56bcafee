import { NotFoundError } from '../../client/http/errors.ts';
import type { Api, Provec } from '../../client/index.ts';
import type { Session } from '../session.ts';
import { endedVerification } from '../verification.ts';
import { type Contradiction, contradictionIn, type Look, type Seen } from './contradiction.ts';
import type { WatchEvent } from './watch-event.ts';
import type { WatchState } from './watch-state.ts';
import { type LedgerTrust, ledgerContradiction } from './watched-ledger.ts';

interface WatchParts {
  session: Session;
  client: Provec;
  state: WatchState;
  /** Names or aliases of the collections; empty for all collections of the account. */
  names: readonly string[];
  /** Seconds between two verifications of a collection; 0 for none. */
  verifyEvery: number;
  /** Null: the service is trusted to say what is on the ledger. */
  trust: LedgerTrust | null;
  report(event: WatchEvent): Promise<void>;
}

/** Number of anchors per page. */
const PAGE = 100;

/** Checks collections repeatedly, and reports whatever contradicts what it has seen before. */
export class Watch {
  readonly #parts: WatchParts;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /**
   * Checks every collection once. Returns true if one contradicted what was seen. Such a collection
   * keeps its entry in the state, so every later round reports it again.
   */
  async round(): Promise<boolean> {
    const { session, client, names, state } = this.#parts;
    let hasAlarm = false;
    const found = new Set<string>();
    const all = names.length > 0 ? names : await this.#allNames(client, session);
    for (const name of all) {
      if ((await this.#lookAt(name, found)) === 'alarm') hasAlarm = true;
    }
    for (const [id, seen] of state.entries()) {
      if (!found.has(id) && (names.length === 0 || names.includes(seen.name))) await this.#reportDeleted(id, seen);
    }
    await state.save();
    return hasAlarm;
  }

  async #allNames(client: Provec, { request }: Session): Promise<string[]> {
    return (await client.listCollections({}, request).all()).map(({ name }) => name);
  }

  async #lookAt(name: string, found: Set<string>): Promise<'alarm' | 'fine'> {
    const isKnown = this.#knows(name);
    try {
      return await this.#look(name, found);
    } catch (error) {
      // A collection that was seen before, or listed a moment ago, may have been deleted since.
      if (error instanceof NotFoundError && isKnown) return 'fine';
      throw error;
    }
  }

  async #look(name: string, found: Set<string>): Promise<'alarm' | 'fine'> {
    const { session, client, state } = this.#parts;
    const detail = await client.collection(name).describe(session.request);
    found.add(detail.id);
    const seen = state.get(detail.id);
    const anchors = await this.#anchorsDownTo(name, seen?.anchor?.version ?? detail.anchor.version);
    const contradiction = contradictionIn(seen, { detail, anchors }) ?? (await this.#onLedger(seen, detail));
    if (contradiction !== null) return this.#alarm(detail, contradiction);
    await this.#reportNews(seen, { detail, anchors });
    const now: Seen = { name, ...rootOf(detail), anchor: anchorOf(detail.anchor), verifiedAt: seen?.verifiedAt };
    state.set(detail.id, now);
    return this.#verify(detail, now);
  }

  async #onLedger(seen: Seen | undefined, detail: Api.CollectionDetail): Promise<Contradiction | null> {
    const { trust } = this.#parts;
    if (trust === null || detail.anchor.version === null) return null;
    const found = await ledgerContradiction(trust, seen, detail);
    if ('contradiction' in found) return found.contradiction;
    await this.#report(detail, { event: 'unverified', state: 'unreachable', reason: found.unread });
    return null;
  }

  /** Whether a collection of that name was seen before, or listed a moment ago. */
  #knows(name: string): boolean {
    const { names, state } = this.#parts;
    return names.length === 0 || state.entries().some(([, seen]) => seen.name === name);
  }

  /** Returns the anchors, newest first, from the newest to that of a version. */
  async #anchorsDownTo(name: string, oldest: number | null): Promise<Api.Anchor[]> {
    const { session, client } = this.#parts;
    const anchors: Api.Anchor[] = [];
    if (oldest === null) return anchors;
    for await (const anchor of client.collection(name).listAnchors({ limit: PAGE }, session.request)) {
      if (anchor.version >= oldest) anchors.push(anchor);
      else break;
    }
    return anchors;
  }

  async #reportNews(seen: Seen | undefined, { detail, anchors }: Look): Promise<void> {
    const { version: newest } = detail.anchor;
    if (seen === undefined || seen.isDeleted)
      await this.#report(detail, { event: 'watching', ...rootOf(detail), anchoredVersion: newest });
    if (seen === undefined) return;
    const since = seen.anchor?.version ?? -1;
    // After an operator's decision, the ledger's history may have higher versions than the newest.
    const added = anchors.filter(({ version }) => version > since && version <= (newest ?? -1));
    for (const { version, merkleRoot, vectorCount, ledgerTx, confirmedAt } of added.toReversed())
      await this.#report(detail, { event: 'anchored', version, merkleRoot, vectorCount, ledgerTx, confirmedAt });
  }

  /** Makes the service verify the collection, if that is due. */
  async #verify(detail: Api.CollectionDetail, seen: Seen): Promise<'alarm' | 'fine'> {
    const { session, client, verifyEvery } = this.#parts;
    const isDue = seen.verifiedAt === undefined || Date.now() - Date.parse(seen.verifiedAt) >= verifyEvery * 1_000;
    if (verifyEvery === 0 || !isDue) return 'fine';
    const { result, error } = await endedVerification(session, client.collection(seen.name));
    if (result?.state === 'mismatch')
      return this.#alarm(detail, { reason: 'mismatch', message: result.reason ?? 'verify says mismatch' });
    if (result?.state === 'match') {
      this.#parts.state.set(detail.id, { ...seen, verifiedAt: new Date().toISOString() });
      await this.#report(detail, { event: 'verified', version: result.version, merkleRoot: result.computedRoot });
      return 'fine';
    }
    const { state = 'failed', reason = error?.message ?? state } = result ?? {};
    await this.#report(detail, { event: 'unverified', state, reason });
    return 'fine';
  }

  async #alarm(detail: Api.CollectionDetail, contradiction: Contradiction): Promise<'alarm'> {
    await this.#report(detail, { event: 'alarm', ...contradiction });
    return 'alarm';
  }

  async #reportDeleted(id: string, seen: Seen): Promise<void> {
    if (seen.isDeleted) return;
    this.#parts.state.set(id, { ...seen, isDeleted: true });
    await this.#report({ id, name: seen.name }, { event: 'deleted' });
  }

  #report({ id, name }: { id: string; name: string }, event: EventParts): Promise<void> {
    return this.#parts.report({ at: new Date().toISOString(), collection: name, collectionId: id, ...event });
  }
}

type EventParts = WatchEvent extends infer E
  ? E extends WatchEvent
    ? Omit<E, 'at' | 'collection' | 'collectionId'>
    : never
  : never;

const rootOf = ({ version, merkleRoot }: Api.CollectionDetail) => ({ version, merkleRoot });

const anchorOf = ({ version, merkleRoot }: Api.CollectionDetail['anchor']) =>
  version === null || merkleRoot === null ? null : { version, merkleRoot };
