/**
 * An attacker keeps an outbox row that accepts whatever is stored, and restores it with its seal
 * after it was carried out, when the ledger shows the same root as then. In each case the shards
 * hold a forged past that a new row would not match.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Cut } from '../../../../../lib/shard/head.ts';
import { NOT_DELETED } from '../../../../../services/anchoring/recovery/deletion.ts';
import { retire } from '../../../../../services/anchoring/recovery/retire.ts';
import type { AnchorRow } from '../../../../../store/anchors.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import { inStoreFile } from '../../../../support/store-file.ts';
import { until } from '../../../../support/until.ts';
import { AnchoringFixture } from '../fixture.ts';

const WAIT_MS = 20_000;

let fixture: AnchoringFixture;
let row: CollectionRow;
let cut: Cut;

const stored = async (): Promise<AnchorRow> => (await fixture.store.anchors.get(row.id))!;
const onChain = () => fixture.onChain(row);

beforeAll(async () => {
  fixture = await AnchoringFixture.open();
});
afterAll(() => fixture.end());

/** Version 1 is confirmed, and no instance is running. */
beforeEach(async () => {
  ({ row, cut } = await fixture.confirmed());
  expect(await onChain()).toMatchObject({ version: 1, decisions: 0 });
});
afterEach(() => fixture.stop());

/** Replaces the current row with a kept one, requests an anchor, and expects no effect. */
async function expectRefused(kept: AnchorRow): Promise<void> {
  const shown = await onChain();
  expect(await fixture.store.anchors.put({ ...kept, revision: (await stored()).revision + 1 })).toBe(true);
  // Done before the service reads the ledger: later it would only confirm the current state.
  const forged = await fixture.commit(row, 0, 'forged');
  const anchoring = await fixture.start();
  await anchoring.submit(row.id, forged, 0);
  await until('it is halted', async () => (await stored()).halted !== null);
  expect(await onChain()).toEqual(shown);
}

test("an operator's decision, after which the same root was anchored", async () => {
  // Stops after signing: the row with the transaction tells what is confirmed once the transaction
  // has landed.
  const deciding = await fixture.start({ onStep: () => new Promise(() => {}) });
  await deciding.halt(row.id, 'a look is taken');
  await deciding.resume(row.id, await deciding.shown(row.id));
  const kept = await stored();
  expect(kept).toMatchObject({ trusted: expect.any(String), inFlight: null });
  const anchoring = await fixture.start();
  await until('it is carried out', async () => (await onChain())?.decisions === 1);
  await until('the row knows', async () => (await stored()).trusted === null);
  expect(await onChain()).toMatchObject({ version: 1 });
  await anchoring.stop();
  await expectRefused(kept);
});

test('a time without anchors, after which nothing had been written', async () => {
  const headsAt = async (_: CollectionRow, at: Cut) => at;
  expect(await retire(await stored(), { store: fixture.store, headsAt })).toBe(true);
  const kept = await stored();
  expect(kept.lapsed).toHaveLength(1);
  const anchoring = await fixture.start();
  expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject({ version: 1, decisions: 1 });
  expect(await onChain()).toMatchObject({ version: 1, decisions: 1 });
  await anchoring.stop();
  await expectRefused(kept);
});

test('an older row, after a root unknown to it was adopted', async () => {
  const kept = await stored();
  await fixture.store.anchors.remove(row.id, kept.revision);
  const anchoring = await fixture.start();
  expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject({ version: 1, decisions: 1 });
  await anchoring.stop();
  await fixture.store.anchors.remove(row.id, (await stored()).revision);
  await fixture.store.anchors.add({ ...kept, wanted: null, confirmed: null, lapsed: [{ ...kept.confirmed! }] });
  await expectRefused(await stored());
});

test("the first row, which says that nothing is anchored yet, without the collection's catalog row", async () => {
  const shown = await onChain();
  const { revision, ...kept } = await stored();
  const first = { ...kept, created: false, confirmed: null, wanted: cut, revision: revision + 1 };
  expect(await fixture.store.anchors.put(first)).toBe(true);
  const sql = 'DELETE FROM collections WHERE id = ?';
  expect(inStoreFile(fixture.folder, 'log.db', (file) => file.prepare(sql).run(row.id)).changes).toBe(1);
  const anchoring = await fixture.start();
  await until('it is halted', async () => (await stored()).halted?.reason === NOT_DELETED);
  await anchoring.stop();
  expect(await onChain()).toEqual(shown);
});

test('a row from before a decision, which does not mention one', async () => {
  const kept = await stored();
  const anchoring = await fixture.start();
  await anchoring.halt(row.id, 'a look is taken');
  await anchoring.resume(row.id, await anchoring.shown(row.id));
  await until('it is carried out', async () => (await stored()).confirmed?.decisions === 1);
  await anchoring.stop();
  await expectRefused(kept);
  expect((await stored()).halted?.reason).toMatch("restored to a state before an operator's decision");
});
