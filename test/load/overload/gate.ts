import type { Context, ServiceSchema } from 'moleculer';
import type { ShardsActions } from '../../../contracts/actions/shards.ts';
import { EMPTY_HEAD } from '../../../lib/shard/head.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { Store } from '../../../store/port.ts';
import { commitTally } from '../../support/accounts.ts';

type Params<A extends keyof ShardsActions> = Context<ShardsActions[A]['params']>;

export interface Passing {
  accountId: string;
  what: 'query' | 'upsert' | 'delete';
  pass(): void;
}

/**
 * Replaces the shards service: records each call in order and holds it until the test lets it pass.
 */
export class ShardsGate {
  /** All calls, in order. */
  readonly begun: Passing[] = [];
  /** Held calls, in order. */
  readonly held: Passing[] = [];
  /** Whether new calls pass at once. */
  isOpen = false;
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Lets all held and future calls pass. */
  open(): void {
    this.isOpen = true;
    for (const passing of this.held.slice()) passing.pass();
  }

  heldOf(accountId: string): Passing[] {
    return this.held.filter((passing) => passing.accountId === accountId);
  }

  begunOf(accountId: string): number {
    return this.begun.filter((passing) => passing.accountId === accountId).length;
  }

  schema(): ServiceSchema {
    const head = { ...EMPTY_HEAD, seq: 1 };
    return {
      name: 'shards',
      actions: {
        query: async ({ params }: Params<'shards.query'>) => {
          await this.#wait(params.shard.accountId, 'query');
          return { items: [], rest: null };
        },
        upsert: async ({ params }: Params<'shards.upsert'>) => {
          const { accountId } = params.shard;
          const upserted = params.batch.ids.length;
          await this.#wait(accountId, 'upsert');
          await commitTally(this.#store, this.#clock, accountId, upserted, upserted);
          return { head, upserted, deleted: 0, created: upserted };
        },
        delete: async ({ params }: Params<'shards.delete'>) => {
          await this.#wait(params.shard.accountId, 'delete');
          return { head, upserted: 0, deleted: params.ids.length, created: 0 };
        },
        head: () => head,
        countNew: ({ params }: Params<'shards.countNew'>) => params.ids.length,
        stats: () => ({ open: 0, reopening: 0 }),
      },
    };
  }

  #wait(accountId: string, what: Passing['what']): Promise<void> {
    return new Promise((resolve) => {
      const passing: Passing = {
        accountId,
        what,
        pass: () => {
          const at = this.held.indexOf(passing);
          if (at < 0) return;
          this.held.splice(at, 1);
          resolve();
        },
      };
      this.begun.push(passing);
      this.held.push(passing);
      if (this.isOpen) passing.pass();
    });
  }
}
