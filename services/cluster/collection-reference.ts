import pLimit from 'p-limit';
import { itemAt } from '../../lib/checked-access.ts';
import { notFound, ProvecError } from '../../lib/errors.ts';
import type { AccountRow, Catalog, CollectionRow } from '../../store/catalog.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Number of accounts searched for a collection name at once. */
const ASKED_AT_ONCE = 64;
/** Maximum number of candidates listed in an "ambiguous name" error. */
const NAMED_MAX = 5;
const ABSENT = {
  ACCOUNT_NOT_FOUND: 'There is no account with that id or name.',
  COLLECTION_NOT_FOUND: 'There is no collection with that id or name.',
};

/**
 * Resolves operators' references: accounts by id or name; collections by id, as `<account>/<name>`
 * or by a name that only one account has; shards as `<collection>.<index>`.
 */
export class ReferenceResolver {
  readonly #catalog: Catalog;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Throws ACCOUNT_NOT_FOUND, and INVALID_ARGUMENT if several accounts have that name. */
  async account(reference: string): Promise<AccountRow> {
    const byId = UUID.test(reference) ? await this.#catalog.getAccount(reference) : null;
    if (byId !== null) return byId;
    const named = (await this.#catalog.listAccounts()).filter(({ name }) => name === reference);
    return onlyMatch(named, 'ACCOUNT_NOT_FOUND', 'have that name; name one by its id', ({ id }) => id);
  }

  /** Throws COLLECTION_NOT_FOUND, and what `account` throws. */
  async collection(reference: string): Promise<CollectionRow> {
    const slash = reference.lastIndexOf('/');
    const byId = UUID.test(reference) ? await this.#catalog.getCollection(reference) : null;
    if (byId !== null) return byId;
    if (slash === -1) return this.#onlyOneNamed(reference);
    const account = await this.account(reference.slice(0, slash));
    const row = await this.#catalog.findCollection(account.id, reference.slice(slash + 1));
    if (row === null) throw notFound('COLLECTION_NOT_FOUND');
    return row;
  }

  async #onlyOneNamed(name: string): Promise<CollectionRow> {
    const accounts = await this.#catalog.listAccounts();
    const rows = await pLimit(ASKED_AT_ONCE).map(accounts, ({ id }) => this.#catalog.findCollection(id, name));
    const found = rows.flatMap((row, at) => (row === null ? [] : [{ row, account: itemAt(accounts, at).name }]));
    const several = 'have a collection of that name; say which';
    return onlyMatch(found, 'COLLECTION_NOT_FOUND', several, ({ account }) => `${account}/${name}`).row;
  }

  /** Throws INVALID_ARGUMENT for a bad reference or index, and what `collection` throws. */
  async shard(reference: string): Promise<{ row: CollectionRow; index: number }> {
    const [, collection, digits] = /^(.+)\.(\d{1,3})$/s.exec(reference) ?? [];
    if (collection === undefined || digits === undefined)
      throw new ProvecError('INVALID_ARGUMENT', 'A shard is named as <collection>.<index>.');
    const row = await this.collection(collection);
    const index = Number(digits);
    if (index >= row.shards)
      throw new ProvecError('INVALID_ARGUMENT', `The collection has shards 0 to ${row.shards - 1}.`);
    return { row, index };
  }
}

/**
 * Returns the only match. Throws `absent`, or INVALID_ARGUMENT with `several`, which completes "<n>
 * accounts ..." and tells the operator what to do.
 */
function onlyMatch<T>(found: readonly T[], absent: keyof typeof ABSENT, several: string, named: (one: T) => string): T {
  const [only] = found;
  if (only === undefined) throw new ProvecError(absent, ABSENT[absent]);
  if (found.length === 1) return only;
  const some = found.slice(0, NAMED_MAX).map(named).join(', ');
  const more = found.length > NAMED_MAX ? ', ...' : '';
  throw new ProvecError('INVALID_ARGUMENT', `${found.length} accounts ${several}: ${some}${more}.`);
}
