import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FindCursor, Sort } from 'mongodb';
import { pino } from 'pino';
import { Seals } from '../../../../lib/secret/seals.ts';
import type { AliasStore } from '../../../../store/aliases.ts';
import type { Catalog } from '../../../../store/catalog.ts';
import { ForgedRows } from '../../../../store/forged-rows.ts';
import { MongoAliases } from '../../../../store/mongo/aliases.ts';
import { MongoCatalog } from '../../../../store/mongo/catalog.ts';
import type { Connection } from '../../../../store/mongo/connection.ts';
import { MongoKeys } from '../../../../store/mongo/keys.ts';
import type { TallyFolding } from '../../../../store/mongo/tally-folding.ts';
import { MongoUsage } from '../../../../store/mongo/usage.ts';
import type { Store } from '../../../../store/port.ts';
import { sealedAliases } from '../../../../store/sealed-aliases.ts';
import { SealedCatalog } from '../../../../store/sealed-catalog.ts';
import { at, newCollection } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();

type Actor = 'put' | 'drop';
/** Number of steps of an undisturbed put or drop. */
const STEPS = 5;

/** Every interleaving of `puts` and `drops` steps. */
function orders(puts: number, drops: number): Actor[][] {
  if (puts === 0 && drops === 0) return [[]];
  const first = (actor: Actor, rest: Actor[][]): Actor[][] => rest.map((order) => [actor, ...order]);
  return [
    ...(puts > 0 ? first('put', orders(puts - 1, drops)) : []),
    ...(drops > 0 ? first('drop', orders(puts, drops - 1)) : []),
  ];
}

/** Lets two actors take turns in a given order, skipping actors that have ended. */
class Turns {
  readonly #order: Actor[];
  readonly #ended = new Set<Actor>();
  readonly #waiting = new Map<Actor, () => void>();
  #isRunning = false;

  constructor(order: Actor[]) {
    this.#order = [...order];
  }

  async step<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.set(actor, resolve);
      this.#next();
    });
    try {
      return await work();
    } finally {
      this.#isRunning = false;
    }
  }

  ended(actor: Actor): void {
    this.#ended.add(actor);
    this.#next();
  }

  #next(): void {
    if (this.#isRunning) return;
    while (this.#ended.has(this.#order[0])) this.#order.shift();
    const [actor = [...this.#waiting.keys()][0]] = this.#order;
    const go = this.#waiting.get(actor);
    if (go === undefined) return;
    this.#isRunning = true;
    this.#order.shift();
    this.#waiting.delete(actor);
    go();
  }
}

(isMongoThere(start) ? describe : describe.skip)('aliases on MongoDB', () => {
  let database: MongoDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await mongoDatabase(await start!());
    store = await database.open();
  });
  afterAll(() => database?.end());

  /** The store's catalog and aliases, with each database step waiting for its turn. */
  function inTurns(actor: Actor, turns: Turns): { catalog: Catalog; aliases: AliasStore } {
    const cursorOf = (cursor: FindCursor): object => ({
      sort: (order: Sort) => cursorOf(cursor.sort(order)),
      limit: (most: number) => cursorOf(cursor.limit(most)),
      toArray: () => turns.step(actor, () => cursor.toArray()),
    });
    const collection = (name: string): object =>
      new Proxy(database.db.collection(name), {
        get: (target, property) => {
          const method = Reflect.get(target, property) as (...args: unknown[]) => Promise<unknown>;
          const call = (...args: unknown[]): Promise<unknown> => method.apply(target, args);
          if (property !== 'find') return (...args: unknown[]) => turns.step(actor, () => call(...args));
          return (filter: object) => cursorOf(target.find(filter));
        },
      });
    const connection = { collection } as unknown as Connection;
    const aliases = new MongoAliases(connection);
    const seals = new Seals(TEST_KEYS.catalog);
    const keys = new MongoKeys(connection, seals);
    const usage = new MongoUsage(connection, {} as TallyFolding);
    const catalog = new MongoCatalog(connection, { aliases, keys, usage });
    const forged = new ForgedRows(pino({ level: 'silent' }));
    return {
      catalog: new SealedCatalog({ catalog, aliases }, seals, forged),
      aliases: sealedAliases(aliases, seals, forged),
    };
  }

  /** An account with two collections, and functions that put and drop them step by step. */
  async function scene(order: Actor[]) {
    const [other, target] = [newCollection({ name: 'other' }), newCollection({ name: 'target' })];
    const { accountId } = other;
    await store.catalog.createCollection(other, null);
    await store.catalog.createCollection({ ...target, accountId }, null);
    const row = (collectionId: string) => ({ accountId, alias: 'live', collectionId, createdAt: at(0) });
    const turns = new Turns(order);
    const [put, drop] = [inTurns('put', turns), inTurns('drop', turns)];
    return {
      ids: { other: other.id, target: target.id },
      putBefore: (id: string) => store.aliases.put(row(id), 1),
      standsFor: async () => (await store.aliases.find(accountId, 'live'))?.collectionId ?? null,
      both: (putId: string, dropId: string) =>
        Promise.all([
          put.aliases.put(row(putId), 1).finally(() => turns.ended('put')),
          drop.catalog.dropCollection(dropId, false).finally(() => turns.ended('drop')),
        ]),
    };
  }
  const outcomesOf = async (each: (order: Actor[]) => Promise<unknown>): Promise<unknown[]> => {
    const outcomes = new Set<string>();
    for (const order of orders(STEPS, STEPS)) outcomes.add(JSON.stringify(await each(order)));
    return [...outcomes].sort().map((outcome) => JSON.parse(outcome));
  };

  test('of creating an alias and dropping its collection, one is refused, in any order of their steps', async () => {
    const outcomes = await outcomesOf(async (order) => {
      const { ids, both, standsFor } = await scene(order);
      return [...(await both(ids.target, ids.target)), (await standsFor()) === ids.target];
    });
    expect(outcomes).toEqual([
      ['created', 'aliased', true],
      ['no target', 'dropped', false],
    ]);
  }, 60_000);

  test('of switching an alias and dropping its new collection, one is refused, in any order', async () => {
    const outcomes = await outcomesOf(async (order) => {
      const { ids, both, putBefore, standsFor } = await scene(order);
      await putBefore(ids.other);
      const ended = await both(ids.target, ids.target);
      return [...ended, (await standsFor()) === (ended[0] === 'replaced' ? ids.target : ids.other)];
    });
    expect(outcomes).toEqual([
      ['no target', 'dropped', true],
      ['replaced', 'aliased', true],
    ]);
  }, 60_000);

  test('a refused switch leaves no alias of a collection dropped meanwhile', async () => {
    const outcomes = await outcomesOf(async (order) => {
      const { ids, both, putBefore, standsFor } = await scene(order);
      await putBefore(ids.other);
      await store.catalog.dropCollection(ids.target, true);
      return [...(await both(ids.target, ids.other)), (await standsFor()) === ids.other];
    });
    expect(outcomes).toEqual([
      ['no target', 'aliased', true],
      ['no target', 'dropped', false],
    ]);
  }, 60_000);
});
