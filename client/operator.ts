import type * as Api from './api/generated.ts';
import type { ConnectOptions, RequestOptions } from './http/options.ts';
import { Transport } from './http/transport.ts';
import { Listing } from './listing.ts';

/** Manages the accounts and nodes of a Provec service; requires its `PROVEC_ADMIN_TOKEN`. */
export class ProvecOperator {
  readonly #transport: Transport;

  /** Throws a TypeError that names the invalid option. */
  constructor(options: ConnectOptions & { adminToken: string }) {
    this.#transport = new Transport(options, 'adminToken');
  }

  /** Lists the accounts. */
  listAccounts(
    query: Api.ListAccountsParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListAccountsResult, Api.Account> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAccounts', { query: page }, options),
      ({ accounts }) => accounts,
    );
  }

  /** Creates an account and its first key. Only this answer has the key's secret. */
  createAccount(body: Api.CreateAccount, options: RequestOptions = {}): Promise<Api.CreateAccountResult> {
    return this.#transport.send('createAccount', { body }, options);
  }

  /** Lists the plans with their limits. */
  async listPlans(options: RequestOptions = {}): Promise<Api.Plan[]> {
    const { plans } = await this.#transport.send('listPlans', {}, options);
    return plans;
  }

  /**
   * Creates a plan, or changes its limits; null means no limit. Every instance of the service
   * applies them within half a second.
   */
  async putPlan(name: string, limits: Api.PutPlan, options: RequestOptions = {}): Promise<Api.Plan> {
    const { plan } = await this.#transport.send('putPlan', { path: { plan: name }, body: limits }, options);
    return plan;
  }

  /** Deletes a plan that no account has. A built-in one gets its configured limits back. */
  async deletePlan(name: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deletePlan', { path: { plan: name } }, options);
  }

  /** Changes an account's plan. */
  async changePlan(id: string, body: Api.ChangePlan, options: RequestOptions = {}): Promise<Api.Account> {
    const { account } = await this.#transport.send('changePlan', { path: { id }, body }, options);
    return account;
  }

  /** Deletes an account with its keys and collections. */
  async deleteAccount(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteAccount', { path: { id } }, options);
  }

  /** Returns an account with its usage. */
  async getAccount(id: string, options: RequestOptions = {}): Promise<Api.Account> {
    const { account } = await this.#transport.send('getAccount', { path: { id } }, options);
    return account;
  }

  /** Lists an account's keys, newest first, without their secrets. */
  listKeys(
    accountId: string,
    query: Api.ListAccountKeysParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListAccountKeysResult, Api.ApiKey> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAccountKeys', { path: { id: accountId }, query: page }, options),
      ({ keys }) => keys,
    );
  }

  /**
   * Creates a key of an account, such as one that replaces a lost key. Only this answer has its
   * secret.
   */
  async createKey(accountId: string, body: Api.CreateKey, options: RequestOptions = {}): Promise<Api.NewApiKey> {
    const { key } = await this.#transport.send('createAccountKey', { path: { id: accountId }, body }, options);
    return key;
  }

  /** Revokes an account's key. */
  async revokeKey(accountId: string, key: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('revokeAccountKey', { path: { id: accountId, key } }, options);
  }

  /** Lists the changes made with the operator token or at a console, or with an account's keys. */
  listAuditEntries(
    query: Api.ListAllAuditEntriesParams = {},
    options: RequestOptions = {},
  ): Listing<Api.AuditEntries, Api.AuditEntry> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAllAuditEntries', { query: page }, options),
      ({ entries }) => entries,
    );
  }

  /** Lists the nodes of the service. */
  listNodes(options: RequestOptions = {}): Promise<Api.ListNodesResult> {
    return this.#transport.send('listNodes', {}, options);
  }

  /** Moves all shards off a node, which takes none until it restarts. */
  drainNode(node: string, options: RequestOptions = {}): Promise<Api.DrainNodeResult> {
    return this.#transport.send('drainNode', { path: { node } }, options);
  }

  /** Lists shards: where they are, and how far their copies have got. */
  listShards(query: Api.ListShardsParams = {}, options: RequestOptions = {}): Listing<Api.ListShardsResult, Api.Shard> {
    return new Listing(
      query,
      (page) => this.#transport.send('listShards', { query: page }, options),
      ({ shards }) => shards,
    );
  }

  /** Gives a shard, named `<collection>.<index>`, to another node. */
  moveShard(shard: string, body: Api.MoveShard, options: RequestOptions = {}): Promise<Api.MoveShardResult> {
    return this.#transport.send('moveShard', { path: { shard }, body }, options);
  }

  /** Lists the collections of all accounts. */
  listCollections(
    query: Api.ListAllCollectionsParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListAllCollectionsResult, Api.CollectionOfAccount> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAllCollections', { query: page }, options),
      ({ collections }) => collections,
    );
  }

  /** Lists what is on the ledger, and what waits. */
  listAnchors(
    query: Api.ListAllAnchorsParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListAllAnchorsResult, Api.AnchorOverview> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAllAnchors', { query: page }, options),
      ({ anchors }) => anchors,
    );
  }

  /** Lists the background verifications of all accounts: running ones, then the newest. */
  listVerifications(
    query: Api.ListAllVerificationsParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListAllVerificationsResult, Api.VerificationOverview> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAllVerifications', { query: page }, options),
      ({ verifications }) => verifications,
    );
  }

  /** Accepts the content of a halted collection as right, and anchors it. */
  async resumeAnchoring(collection: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('resumeAnchoring', { path: { collection } }, options);
  }

  /** Starts a backup in the service's folder for backups. */
  async startBackup(body: Api.StartBackup = {}, options: RequestOptions = {}): Promise<Api.Backup> {
    const { backup } = await this.#transport.send('startBackup', { body }, options);
    return backup;
  }

  /** Lists the backups by name, the last one first. */
  listBackups(
    query: Api.ListBackupsParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListBackupsResult, Api.Backup> {
    return new Listing(
      query,
      (page) => this.#transport.send('listBackups', { query: page }, options),
      ({ backups }) => backups,
    );
  }

  /** Returns the ledger, its authority, and the account of the collection that the query names. */
  getLedger(query: Api.GetLedgerParams = {}, options: RequestOptions = {}): Promise<Api.Ledger> {
    return this.#transport.send('getLedger', { query }, options);
  }
}
