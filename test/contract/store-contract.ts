import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { OutboxState } from '../../store/anchors.ts';
import { type Store, StoreError } from '../../store/port.ts';
import { aliasesContract } from './aliases-contract.ts';
import { anchorsContract } from './anchors-contract.ts';
import { auditContract } from './audit-contract.ts';
import { auditLinksContract } from './audit-links-contract.ts';
import { catalogContract } from './catalog-contract.ts';
import { checkpointsContract } from './checkpoints-contract.ts';
import { contradictionsContract } from './contradictions-contract.ts';
import { dropContract } from './drop-contract.ts';
import { firstKeyContract } from './first-key-contract.ts';
import { keysContract } from './keys-contract.ts';
import { logContract } from './log-contract.ts';
import { ownersContract } from './owners-contract.ts';
import { plansContract } from './plans-contract.ts';
import { recordsContract } from './records-contract.ts';
import { entry, newBlock, newCollection } from './store-rows.ts';
import { usageContract } from './usage-contract.ts';

/**
 * A store on its own fresh data. `reopen` closes it and opens the same data again. `destroy` closes
 * it and removes the data. `spoil` changes a byte in a file of a stored checkpoint behind the
 * store's back.
 */
export interface OpenedStore {
  store: Store;
  reopen(): Promise<Store>;
  destroy(): Promise<void>;
  /**
   * Opens the same data as a forger who can write to it but does not have the secret. The caller
   * closes it.
   */
  forger(): Promise<Store>;
  spoil(shard: string, seq: number, file: string): Promise<void>;
  setAside(shard: string): Promise<number[]>;
  /** Writes next to an outbox row, behind the store's back, where the row is filed. */
  misfile(collectionId: string, standing: OutboxState): Promise<void>;
  /** Copies a record's row behind the store's back, with these bytes as its id. */
  respell(shard: string, id: string, bytes: Uint8Array): Promise<void>;
  /** Changes the mark of the first key behind the store's back; returns the new mark. */
  remark(change?: (mark: unknown) => unknown): Promise<unknown>;
}

/**
 * The store that the tests of one part share, because opening a store costs more than most of the
 * tests. Each test uses its own ids. Tests that read everything ask for a `fresh` store.
 */
export interface StoreUnderTest {
  readonly store: Store;
  /** Replaces the store with an empty one. */
  fresh(): Promise<Store>;
  /** Closes and reopens the store with the same data. */
  reopen(): Promise<Store>;
  /** Runs `work` as a forger who can write to the data but does not have the secret. */
  forge(work: (store: Store) => Promise<unknown>): Promise<void>;
  spoil(shard: string, seq: number, file: string): Promise<void>;
  setAside(shard: string): Promise<number[]>;
  misfile(collectionId: string, standing: OutboxState): Promise<void>;
  respell(shard: string, id: string, bytes: Uint8Array): Promise<void>;
  remark(change?: (mark: unknown) => unknown): Promise<unknown>;
  /** Closes the store; it is reopened after the test. */
  close(): Promise<void>;
}

/** The parts in two halves, for adapters whose test files must be short. */
export const CONTRACT_HALVES = [
  [aliasesContract, catalogContract, keysContract, logContract, plansContract, usageContract],
  [
    recordsContract,
    checkpointsContract,
    anchorsContract,
    contradictionsContract,
    auditContract,
    auditLinksContract,
    ownersContract,
    dropContract,
    firstKeyContract,
  ],
] as const;

/** One test per promise of the storage port, for any adapter. `parts`: runs only these parts. */
export function storeContract(
  name: string,
  open: () => Promise<OpenedStore>,
  parts: readonly ((subject: StoreUnderTest) => void)[] = CONTRACT_HALVES.flat(),
): void {
  describe(`storage port: ${name}`, () => {
    let opened: OpenedStore;
    let store: Store;
    let closed = false;
    const begin = async () => {
      opened = await open();
      store = opened.store;
      closed = false;
    };
    const subject: StoreUnderTest = {
      get store() {
        return store;
      },
      async fresh() {
        await opened.destroy();
        await begin();
        return store;
      },
      async reopen() {
        store = await opened.reopen();
        closed = false;
        return store;
      },
      async forge(work) {
        const forger = await opened.forger();
        try {
          await work(forger);
        } finally {
          await forger.close();
        }
      },
      spoil: (shard, seq, file) => opened.spoil(shard, seq, file),
      setAside: (shard) => opened.setAside(shard),
      misfile: (collectionId, standing) => opened.misfile(collectionId, standing),
      respell: (shard, id, bytes) => opened.respell(shard, id, bytes),
      remark: (change) => opened.remark(change),
      close() {
        closed = true;
        return store.close();
      },
    };
    beforeAll(begin);
    afterEach(async () => {
      if (closed) await subject.reopen();
    });
    afterAll(() => opened.destroy());

    for (const part of parts) part(subject);

    describe('store', () => {
      test('is reachable', async () => {
        await store.reach();
      });

      test('reports its free space, or that it cannot', async () => {
        const free = await store.freeBytes();
        if (free !== null) expect(free).toBeGreaterThan(0);
      });

      test('close waits for writes in flight and can be called twice', async () => {
        const { id } = newCollection();
        const appends = [0, 1, 2].map((index) => store.log.append(entry(`${id}.${index}`, 1)));
        const closing = subject.close();
        await expect(Promise.all(appends)).resolves.toEqual(['committed', 'committed', 'committed']);
        await closing;
        await subject.close();
        expect((await (await subject.reopen()).log.heads(id)).size).toBe(3);
      });

      test("every part answers 'closed' after close", async () => {
        const { id } = newCollection();
        const shard = `${id}.0`;
        await subject.close();
        const calls = [
          () => store.catalog.getCollection(id),
          () => store.catalog.dropCollection(id, true),
          () => store.keys.count('a'),
          () => store.log.append(entry(shard, 1)),
          () => store.log.head(shard),
          () => store.usage.openBlock('a', '2026-11', newBlock(), 1, null),
          () => store.records.scan(shard),
          () => store.records.apply(shard, 0, 1, []),
          () => store.records.removeForeign(shard, () => true),
          () => store.checkpoints.stage(shard),
          () => store.checkpoints.list(shard),
          () => store.anchors.get(id),
          () => store.contradictions.list(id),
          () => store.owners.get(shard),
          () => store.leases.list(),
          () => store.reach(),
          () => store.dropCollectionData(id),
        ];
        for (const call of calls) {
          const error = await call().catch((caught: unknown) => caught);
          expect(error).toBeInstanceOf(StoreError);
          expect((error as StoreError).kind).toBe('closed');
        }
      });
    });
  });
}
