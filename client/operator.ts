import type * as Api from './api/generated.ts';
import type { ConnectOptions, RequestOptions } from './http/options.ts';
import { Transport } from './http/transport.ts';
import { Listing } from './listing.ts';

/** Manages the accounts of a Provec service; requires its `PROVEC_ADMIN_TOKEN`. */
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

  /** Changes an account's plan. */
  async changePlan(id: string, body: Api.ChangePlan, options: RequestOptions = {}): Promise<Api.Account> {
    const { account } = await this.#transport.send('changePlan', { path: { id }, body }, options);
    return account;
  }

  /** Deletes an account with its keys and collections. */
  async deleteAccount(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteAccount', { path: { id } }, options);
  }
}
