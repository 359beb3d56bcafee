/**
 * An update that discovers, after some shards have committed, that a record has grown meanwhile.
 */
import { afterEach, expect, test } from '@jest/globals';
import type { Context, Middleware } from 'moleculer';
import type { ActionName, Actions } from '../../../../../contracts/actions/call.ts';
import { LIMITS } from '../../../../../lib/limits.ts';
import collectionsService from '../../../../../services/collections/collections.service.ts';
import { shardIndexOf } from '../../../../../services/collections/shard-routing.ts';
import keysService from '../../../../../services/keys/keys.service.ts';
import meteringService from '../../../../../services/metering/metering.service.ts';
import shardsService from '../../../../../services/shards/shards.service.ts';
import { rejectedError } from '../../../../support/accounts.ts';
import type { ClientParams } from '../../../../support/client-call.ts';
import { smallService } from '../../../../support/environment.ts';
import { openTemporaryStore, startWorld, type TemporaryStore, type World } from '../../../../support/world.ts';

const SHARDS = 4;
const IDS = Array.from({ length: 16 }, (_, at) => `r${at}`);
const GROWING = 'r3';
const PARTLY =
  'The service changed only some of the records: meanwhile a record was written whose metadata would become too long. ' +
  'Send the request again; if it still would, the response is a 400.';

let opened: TemporaryStore;
let world: World;
let target: { accountId: string; name: string };
/** Runs before the first change in the shard with the growing record. */
let before: (() => Promise<unknown>) | null = null;

afterEach(async () => {
  await world.broker.stop();
  await opened.destroy();
});

type Handler = (ctx: Context) => Promise<unknown>;

const interposing = {
  name: 'Interposing',
  localAction: (next: Handler, { name }: { name: string }): Handler => {
    if (name !== 'shards.change') return next;
    return async (ctx) => {
      const { shard } = ctx.params as { shard: { index: number } };
      if (shard.index !== shardIndexOf(GROWING, SHARDS)) return next(ctx);
      const grow = before;
      before = null;
      await grow?.();
      return next(ctx);
    };
  },
} as unknown as Middleware;

async function start(): Promise<void> {
  opened = await openTemporaryStore();
  world = await startWorld({
    environment: smallService(opened.folder, { PROVEC_LEDGER: 'off' }),
    store: opened.store,
    services: [collectionsService, keysService, meteringService, shardsService],
    broker: { middlewares: [interposing] },
  });
  const { account } = await ask('keys.createAccount', { name: 'someone', plan: 'enterprise' });
  target = { accountId: account.id, name: 'docs' };
  await ask('collections.create', { ...target, dimensions: 1, metric: 'dot', shards: SHARDS });
  await ask('collections.upsert', { ...target, records: IDS.map((id) => recordOf(id, 0)) });
}

function ask<N extends ActionName>(action: N, params: ClientParams<N>): Promise<Actions[N]['result']> {
  return world.call(action, params);
}
const recordOf = (id: string, chars: number) => ({ id, values: [1], metadata: { a: 1, text: 'x'.repeat(chars) } });
const grow = () => ask('collections.upsert', { ...target, records: [recordOf(GROWING, LIMITS.metadataMaxBytes - 20)] });
const changed = async () => (await ask('collections.count', { ...target, filter: { b: { $exists: true } } })).count;

/** Parameters as a client sends them. */
const sent = (body: object) => ({ ...target, ...body });
const merge = { setMetadata: { b: 'y'.repeat(100) } };
test.each([
  ['by filter', { filter: { a: 1 }, ...merge }, `the record "${GROWING}"`],
  ['by id', { updates: IDS.map((id) => ({ id, ...merge })) }, 'updates[3]'],
])("%s: the answer predicts the next request's outcome", async (_, update, named) => {
  await start();
  before = grow;
  const partly = await rejectedError(ask('collections.updateRecords', sent(update)));
  expect([partly.code, partly.message]).toEqual(['UNAVAILABLE', PARTLY]);
  const others = IDS.filter((id) => shardIndexOf(id, SHARDS) !== shardIndexOf(GROWING, SHARDS));
  expect(await changed()).toBe(others.length);
  const again = await rejectedError(ask('collections.updateRecords', sent(update)));
  expect([again.code, again.details?.map(({ path }) => path)]).toEqual(['INVALID_ARGUMENT', [named]]);
  expect(await changed()).toBe(others.length);
});
