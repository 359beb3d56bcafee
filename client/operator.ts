import type * as Api from './api/generated.ts';
import type { ConnectOptions, RequestOptions } from './http/options.ts';
import { Transport } from './http/transport.ts';
import { Listing } from './listing.ts';

/** The accounts of a Provec, for holders of its `PROVEC_ADMIN_TOKEN`. */
export class ProvecOperator {
  readonly #transport: Transport;

  /** Throws a TypeError that names an option that is invalid. */
  constructor(options: ConnectOptions & { adminToken: string }) {
    this.#transport = new Transport(options, 'adminToken');
  }

  /** All of them, however many pages they take. */
  listAccounts(options: RequestOptions = {}): Promise<Api.Account[]> {
    return new Listing<Api.ListAccountsResult, Api.Account>(
      {},
      (query) => this.#transport.send('listAccounts', { query }, options),
      ({ accounts }) => accounts,
    ).all();
  }

  /** Creates an account with its first key, whose secret only this answer has. */
  createAccount(body: Api.CreateAccount, options: RequestOptions = {}): Promise<Api.CreateAccountResult> {
    return this.#transport.send('createAccount', { body }, options);
  }

  /** Changes an account's plan. */
  async changePlan(id: string, body: Api.ChangePlan, options: RequestOptions = {}): Promise<Api.Account> {
    const { account } = await this.#transport.send('changePlan', { path: { id }, body }, options);
    return account;
  }

  /** Deletes the account with its keys and collections. */
  async deleteAccount(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteAccount', { path: { id } }, options);
  }
}
