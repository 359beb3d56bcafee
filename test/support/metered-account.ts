import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { WriteAnswer } from '../../services/metering/account-writes.ts';
import type { Allowance } from '../../services/metering/allowance.ts';
import type { WriteNeed, WriteRequest } from '../../services/metering/write-decisions.ts';
import type { Store } from '../../store/port.ts';
import { commitTally, ManualClock, startNode } from './accounts.ts';
import { openTemporaryStore, type TemporaryStore, type World } from './world.ts';

const LIMITS = { writes: 100, vectors: 20 };

/**
 * An account whose plan allows 100 writes and 20 vectors, on a node with the keys and metering
 * services. Registers hooks that create a new account for each test of the importing file.
 */
export class MeteredAccount {
  store!: Store;
  clock!: ManualClock;
  node!: World;
  id!: string;

  constructor() {
    let opened: TemporaryStore;
    beforeAll(async () => {
      opened = await openTemporaryStore();
      this.store = opened.store;
    });
    afterAll(() => opened.destroy());
    beforeEach(async () => {
      this.clock = new ManualClock();
      this.node = await startNode(this.store, this.clock, { free: LIMITS });
      this.id = (await this.node.call('keys.createAccount', { name: 'someone', plan: 'free' })).account.id;
    });
    afterEach(() => this.node.broker.stop());
  }

  /** Restarts the node. */
  async restart(limits: Record<string, number> = LIMITS): Promise<void> {
    await this.node.broker.stop();
    this.node = await startNode(this.store, this.clock, { free: limits });
  }

  reserve = (writes: number, vectors = writes, ticket?: string): Promise<WriteAnswer> =>
    this.node.call('metering.reserveWrite', { accountId: this.id, writes, vectors, ticket });

  settle = (id: string): Promise<null> => this.node.call('metering.settle', { accountId: this.id, id });

  commit = (writes: number, vectors = 0): Promise<void> =>
    commitTally(this.store, this.clock, this.id, writes, vectors);
}

/** A write request that asks for quota, with a `ticket` or for the first time. */
export function writeRequestFor(need: WriteNeed, allowance: Allowance, ticket?: string): WriteRequest {
  return { id: ticket ?? randomUUID(), need, writesMin: need.writes, allowance, isCounted: ticket !== undefined };
}

/** Returns the id of the reservation; throws any other response. */
export async function reservationId(promise: Promise<WriteAnswer>): Promise<string> {
  const answer = await promise;
  if (answer.outcome !== 'reserved' || answer.id === null)
    throw new Error(`not reserved but ${JSON.stringify(answer)}`);
  return answer.id;
}
