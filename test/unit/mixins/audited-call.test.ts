import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { AuditedChange } from '../../../contracts/actions/audit.ts';
import { AUDITED_ACTIONS } from '../../../mixins/audit/audited-actions.ts';
import keysService from '../../../services/keys/keys.service.ts';
import { type AuditEntry, OPERATOR_TRAIL } from '../../../store/audit.ts';
import { type Store, StoreError, type StoreErrorKind } from '../../../store/port.ts';
import { openTemporaryStore, startWorld, type TemporaryStore, type World } from '../../support/world.ts';

let temporary: TemporaryStore;
let store: Store;
let world: World;
let accountId: string;
/** Entries that the trail cannot take, and why. */
let failure: { phase: AuditedChange['phase']; kind: StoreErrorKind } | null;
let logged: string[];

beforeEach(async () => {
  temporary = await openTemporaryStore();
  [failure, logged] = [null, []];
  store = temporary.store;
  const append = async (trail: string, entry: AuditEntry): Promise<void> => {
    if (failure !== null && failure.phase === entry.phase)
      throw new StoreError(failure.kind, 'the trail takes no entry');
    await store.audit.append(trail, entry);
  };
  const audit = { append, page: store.audit.page.bind(store.audit) };
  const log = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const fakes = { 'collections.removeAll': () => null };
  world = await startWorld({ store: { ...store, audit }, services: [keysService], fakes, log });
  accountId = (await world.call('keys.createAccount', { name: 'audited', plan: 'enterprise' })).account.id;
});
afterEach(async () => {
  await world.broker.stop();
  await temporary.destroy();
});

const create = () => world.call('keys.create', { accountId, name: 'another' });
const keyNames = async () => (await store.keys.list(accountId)).map(({ name }) => name).sort();
const lastEntries = async (count: number) => {
  const { items } = await store.audit.page(OPERATOR_TRAIL, 0, 100);
  return items.slice(-count).map(({ entry }) => entry);
};

test('a call without an HTTP request is a console’s, and names its node', async () => {
  const { id } = await create();
  const node = world.broker.nodeID;
  expect(await lastEntries(2)).toMatchObject([
    { phase: 'begin', action: 'key.create', actor: { type: 'console', node }, address: null, requestId: null },
    { phase: 'end', outcome: 'done', after: { keyId: id } },
  ]);
});

test('nothing is changed if the first entry cannot be written', async () => {
  for (const kind of ['unavailable', 'unknown', 'capacity'] as const) {
    failure = { phase: 'begin', kind };
    await expect(create()).rejects.toMatchObject({ kind });
  }
  expect(await keyNames()).toEqual(['first key']);
});

test('what frees space is done although the trail is full, and the log says so', async () => {
  const { id } = await create();
  failure = { phase: 'begin', kind: 'capacity' };
  await world.call('keys.revoke', { accountId, id });
  expect(await keyNames()).toEqual(['first key']);
  expect(logged.join()).toContain('a change is missing from the audit trail');
  failure = { phase: 'begin', kind: 'unavailable' };
  const [first] = await store.keys.list(accountId);
  await expect(world.call('keys.revoke', { accountId, id: first!.id })).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a change whose outcome cannot be written is done, and the log says so', async () => {
  failure = { phase: 'end', kind: 'unavailable' };
  await create();
  expect(await keyNames()).toEqual(['another', 'first key']);
  expect(logged.join()).toContain('the outcome of a change is missing from the audit trail');
  expect(await lastEntries(1)).toMatchObject([{ phase: 'begin', action: 'key.create' }]);
});

test('a refused change and a failed one say so', async () => {
  await expect(world.call('keys.revoke', { accountId, id: 'absent' })).rejects.toThrow();
  expect(await lastEntries(1)).toMatchObject([{ phase: 'end', outcome: 'refused', code: 'KEY_NOT_FOUND' }]);
  store.keys.create = () => Promise.reject(new StoreError('unknown', 'the connection was lost'));
  await expect(create()).rejects.toThrow();
  expect(await lastEntries(1)).toMatchObject([{ phase: 'end', outcome: 'failed', code: 'INTERNAL', after: null }]);
});

test('long values, and what is not Unicode, are left out', async () => {
  await expect(world.call('keys.create', { accountId, name: '\ud800' })).rejects.toThrow();
  expect((await lastEntries(2))[0]).toMatchObject({ asked: { name: '(not Unicode)' } });
  await expect(world.call('keys.create', { accountId, name: 'x'.repeat(2_000) })).rejects.toThrow();
  expect((await lastEntries(2))[0]).toMatchObject({ asked: { name: '(too long)' } });
});

test('docs/audit.md lists every audited action', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/audit.md'), 'utf8');
  const [, table] = /\| action \|.*?\n\|---.*?\n(.*?)\n\n/s.exec(page)!;
  const listed = table!.split('\n').flatMap((row) => row.split('|')[1]!.match(/[a-zA-Z]+\.[a-zA-Z]+/g) ?? []);
  const audited = Object.values(AUDITED_ACTIONS).map(({ name }) => name);
  expect(listed.sort()).toEqual([...audited, 'backup.restore'].sort());
});
