import { hash, randomBytes, randomUUID } from 'node:crypto';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import type {
  AuditLinkHolder,
  AuditLinkView,
  AuditView,
  NewAuditLink,
} from '../../../contracts/actions/collections.ts';
import { planOf } from '../../../contracts/actions/principal.ts';
import { isProvecError, notFound, ProvecError } from '../../../lib/errors.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { AuditLinkRow } from '../../../store/audit-links.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { CollectionHeads } from '../writes/collection-heads.ts';
import { anchorsPage } from './anchors-page.ts';
import type { CollectionCatalog } from './catalog.ts';
import { collectionDetail } from './collection-view.ts';

const TOKEN = /^pv_audit_[A-Za-z0-9_-]{43}$/;
const TOKEN_BYTES = 32;
const LINK_ID = /^[0-9a-f-]{36}$/;
/**
 * Errors about a collection or account that is gone, which a reader of a link must not tell apart.
 */
const GONE: readonly string[] = ['COLLECTION_NOT_FOUND', 'ACCOUNT_NOT_FOUND', 'AUDIT_LINK_NOT_FOUND'];

/**
 * Links that show a collection's roots, without a key and without data. Only `create` returns a
 * token. A link that is unknown, revoked or expired, and one whose collection is gone, all get the
 * same AUDIT_LINK_NOT_FOUND.
 */
export class AuditLinks {
  readonly #runtime: Runtime;
  readonly #catalog: CollectionCatalog;
  readonly #heads: CollectionHeads;

  constructor(runtime: Runtime, catalog: CollectionCatalog, heads: CollectionHeads) {
    this.#runtime = runtime;
    this.#catalog = catalog;
    this.#heads = heads;
  }

  /** Throws AUDIT_LINK_LIMIT_REACHED and COLLECTION_NOT_FOUND. */
  async create(
    { id: collectionId, accountId, name }: CollectionRow,
    { label = null, expiresAt = null }: { label?: string | null; expiresAt?: string | null },
  ): Promise<NewAuditLink> {
    const { config, clock, store } = this.#runtime;
    const { auditLinksMax } = config.limits;
    const token = `pv_audit_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const createdAt = new Date(clock.wallMs()).toISOString();
    const row = { id: randomUUID(), accountId, collectionId, hash: hashOf(token), label, createdAt, expiresAt };
    if ((await store.auditLinks.create(row, auditLinksMax)) === 'limit') {
      const message = `The collection ${name} has ${auditLinksMax} audit links; delete one first.`;
      throw new ProvecError('AUDIT_LINK_LIMIT_REACHED', message);
    }
    // Another node may have dropped the collection, and removed its links, meanwhile.
    if ((await store.catalog.getCollection(collectionId)) === null) {
      await store.auditLinks.remove(collectionId, row.id);
      throw notFound('COLLECTION_NOT_FOUND');
    }
    return { ...viewOf(row), token };
  }

  async list({ id }: CollectionRow): Promise<AuditLinkView[]> {
    return (await this.#runtime.store.auditLinks.list(id)).map(viewOf);
  }

  /** Throws AUDIT_LINK_NOT_FOUND. */
  async revoke({ id: collectionId }: CollectionRow, id: string): Promise<void> {
    const isRemoved = LINK_ID.test(id) && (await this.#runtime.store.auditLinks.remove(collectionId, id));
    if (!isRemoved) throw notFound('AUDIT_LINK_NOT_FOUND');
  }

  /** Returns whose link it is. Throws AUDIT_LINK_NOT_FOUND. */
  holder(caller: Caller, token: string): Promise<AuditLinkHolder> {
    return orNoLink(async () => {
      const { link } = await this.#find(token);
      return { id: link.id, accountId: link.accountId, plan: await planOf(caller, link.accountId) };
    });
  }

  /** Returns what a link shows. Throws AUDIT_LINK_NOT_FOUND, and INVALID_ARGUMENT for a page. */
  view(caller: Caller, token: string, page: { limit?: number; cursor?: string }): Promise<AuditView> {
    const { config, plans } = this.#runtime;
    return orNoLink(async () => {
      const { link, collection } = await this.#find(token);
      return this.#catalog.use({ accountId: link.accountId, name: collection.name, collection }, async (row) => {
        const [detail, ledger, history] = await Promise.all([
          collectionDetail(caller, plans, row, await this.#heads.committed(row)),
          call(caller, 'anchoring.info', {}),
          anchorsPage(caller, row.id, page, config.limits),
        ]);
        const { merkleRoot, version, vector_count: vectorCount, anchor } = detail;
        return {
          collectionId: row.id,
          label: link.label,
          expiresAt: link.expiresAt,
          merkleRoot,
          version,
          vectorCount,
          anchor,
          ledger: { program: ledger.program, authority: ledger.authority, cluster: ledger.cluster },
          history,
        };
      });
    });
  }

  async #find(token: string): Promise<{ link: AuditLinkRow; collection: CollectionRow }> {
    const { clock, store } = this.#runtime;
    const link = TOKEN.test(token) ? await store.auditLinks.findByHash(hashOf(token)) : null;
    const isExpired = link !== null && link.expiresAt !== null && Date.parse(link.expiresAt) <= clock.wallMs();
    const collection = link === null || isExpired ? null : await store.catalog.getCollection(link.collectionId);
    if (link === null || collection?.accountId !== link.accountId) throw notFound('AUDIT_LINK_NOT_FOUND');
    return { link, collection };
  }
}

async function orNoLink<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isProvecError(error) && GONE.includes(error.code)) throw notFound('AUDIT_LINK_NOT_FOUND');
    throw error;
  }
}

/** The store looks up this hash, so that times of look-ups reveal nothing about a token. */
const hashOf = (token: string): string => hash('sha256', token);

const viewOf = ({ id, label, createdAt, expiresAt }: AuditLinkRow): AuditLinkView => ({
  id,
  label,
  createdAt,
  expiresAt,
});
