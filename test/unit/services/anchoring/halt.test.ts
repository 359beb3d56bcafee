import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { getBase58Encoder } from '@solana/web3.js';
import { collectionRoot } from '../../../../lib/shard/collection-root.ts';
import type { Cut } from '../../../../lib/shard/head.ts';
import { encodeLine, Journal } from '../../../../services/devledger/journal.ts';
import { startDevLedger } from '../../../../services/devledger/process.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import { until } from '../../../support/until.ts';
import { AnchoringFixture, headOf, SILENT } from './fixture.ts';

const WAIT_MS = 20_000;

describe('what contradicts the ledger is never anchored over it', () => {
  let fixture: AnchoringFixture;
  let row: CollectionRow;
  let cut: Cut;

  /** A collection whose first root is confirmed. */
  beforeEach(async () => {
    fixture = await AnchoringFixture.open();
    ({ row, cut } = await fixture.confirmed());
  });
  afterEach(() => fixture.end());

  const halted = async () => (await fixture.store.anchors.get(row.id))?.halted?.reason ?? null;
  const removeRow = async () =>
    fixture.store.anchors.remove(row.id, (await fixture.store.anchors.get(row.id))!.revision);
  const onChainVersion = async () => (await fixture.onChain(row))?.version;

  test("shards whose bytes give another root than the ledger's halt, and an operator can resume", async () => {
    let isAccepted = false;
    const headsAt = async (_: CollectionRow, at: Cut) => (isAccepted ? at : [headOf(0, 1, 'tampered')]);
    const anchoring = await fixture.start({ headsAt });
    const next = await fixture.commit(row);
    expect(await anchoring.submit(row.id, next, WAIT_MS)).toBeNull();
    expect(await halted()).toMatch(/stored records .* give a different root/);
    expect(await onChainVersion()).toBe(1);
    expect((await anchoring.stats()).halted).toBe(1);
    expect(await anchoring.submit(row.id, next, WAIT_MS)).toBeNull();

    // As the service's `anchoring.resume` makes the shards do first.
    isAccepted = true;
    await anchoring.resume(row.id, await anchoring.shown(row.id));
    await until('the next root is anchored', async () => (await onChainVersion()) === 2);
    await until('nothing is pending', async () => (await anchoring.stats()).pending === 0);
    expect(await halted()).toBeNull();
    expect((await anchoring.stats()).halted).toBe(0);
  });

  test('a write after a contradiction is not confirmed by a root of more writes', async () => {
    const anchoring = await fixture.start();
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 2 });
    const contradiction = { seq: 2, reason: 'The log was put back.', at: '2026-11-21T00:00:00.000Z' };
    await fixture.store.contradictions.record(`${row.id}.0`, contradiction);
    const written: Cut = [{ ...headOf(0, 3, 'put back'), version: 1, contradicted: true }];
    expect(await anchoring.submit(row.id, written, WAIT_MS)).toBeNull();
    expect(await halted()).toBe(contradiction.reason);
    expect(await onChainVersion()).toBe(2);
  });

  test('a stored contradiction halts, announced or not, until an operator resumes, in any process', async () => {
    const contradiction = { seq: 1, reason: 'The stored records were changed.', at: '2026-11-21T00:00:00.000Z' };
    await fixture.store.contradictions.record(`${row.id}.0`, contradiction);
    const anchoring = await fixture.start();
    const next = await fixture.commit(row);
    expect(await anchoring.submit(row.id, next, WAIT_MS)).toBeNull();
    expect(await halted()).toBe(contradiction.reason);
    expect(await onChainVersion()).toBe(1);
    expect(await anchoring.stats()).toMatchObject({ halted: 1, oldestPendingSeconds: expect.any(Number) });
    await anchoring.stop();

    // The ledger knows a version that the resumed row does not: the decision must survive the
    // process that took it.
    const deciding = await fixture.start({ onStep: () => new Promise(() => {}) });
    await deciding.resume(row.id, await deciding.shown(row.id));
    expect(await fixture.store.contradictions.list(row.id)).toEqual([]);
    expect(await halted()).toBeNull();
    const successor = await fixture.start();
    await until('the next root is anchored', async () => (await onChainVersion()) === 2);
    await until('nothing is pending', async () => (await successor.stats()).pending === 0);
    expect(await halted()).toBeNull();
    expect((await fixture.store.anchors.get(row.id))!.trusted).toBeNull();
  });

  test('nothing is signed until the shards know their state at the confirmed root', async () => {
    const asked: Cut[] = [];
    let canSay = false;
    const headsAt = async (_: CollectionRow, at: Cut) => {
      asked.push(at);
      return canSay ? at : [null];
    };
    const anchoring = await fixture.start({ headsAt });
    const next = await fixture.commit(row);
    expect(await anchoring.submit(row.id, next, 0)).toBeNull();
    await until('they were asked more than once', () => asked.length > 2);
    expect(asked[0]).toEqual(cut);
    expect(await halted()).toBeNull();
    expect(await onChainVersion()).toBe(1);
    canSay = true;
    expect(await anchoring.submit(row.id, next, WAIT_MS)).toMatchObject({ version: 2 });
  });

  test('a decision already carried out is ignored if it is put back into the row', async () => {
    await removeRow();
    await fixture.commit(row);
    const anchoring = await fixture.start();
    await until('it is halted', async () => (await halted()) !== null);
    await anchoring.resume(row.id, await anchoring.shown(row.id));
    const decided = (await fixture.store.anchors.get(row.id))!;
    await until('the next root is anchored', async () => (await onChainVersion()) === 2);
    await anchoring.stop();
    const revision = (await fixture.store.anchors.get(row.id))!.revision + 1;
    await fixture.commit(row);
    const again = { ...decided, revision };
    await fixture.store.anchors.put(again);
    const successor = await fixture.start();
    await until('it is halted again', async () => (await halted()) !== null);
    expect(await onChainVersion()).toBe(2);
    await successor.stop();
  });

  test('a row put back to an older one adopts what the log holds; another history with as many writes is not confirmed', async () => {
    const forgetful = (await fixture.store.anchors.get(row.id))!;
    const anchoring = await fixture.start();
    await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS);
    await anchoring.stop();
    // Simulates a restored backup: row and log return to version 1, and the log then continues
    // differently.
    const revision = (await fixture.store.anchors.get(row.id))!.revision + 1;
    await fixture.store.anchors.put({ ...forgetful, revision });
    const successor = await fixture.start();
    expect(await successor.submit(row.id, [headOf(0, 2, 'another history')], 500)).toBeNull();
    await until('what the log holds is confirmed', async () => {
      const confirmed = (await fixture.store.anchors.get(row.id))?.confirmed;
      return confirmed?.version === 2;
    });
    // The chain has what the log contains, so it is adopted. A cut of another history with the same
    // seqs is not newer and changes nothing.
    expect(await halted()).toBeNull();
    expect((await fixture.store.anchors.get(row.id))!.confirmed).toMatchObject(collectionRoot([headOf(0, 2)]));
  });

  test('a version on the ledger that the store does not know halts', async () => {
    const forgetful = (await fixture.store.anchors.get(row.id))!;
    const anchoring = await fixture.start();
    await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS);
    await anchoring.stop();
    const revision = (await fixture.store.anchors.get(row.id))!.revision + 1;
    await fixture.store.anchors.put({ ...forgetful, revision });
    await fixture.commit(row);
    const successor = await fixture.start();
    await until('it is halted', async () => (await halted()) !== null);
    expect(await halted()).toMatch(/version 2, which this store never anchored/);
    expect(await onChainVersion()).toBe(2);
    expect(await successor.submit(row.id, [headOf(0, 3)], 100)).toBeNull();
  });

  test('a lost row with an older root on chain halts, and is adopted when the log is at that root', async () => {
    await removeRow();
    const anchoring = await fixture.start();
    await until('it is adopted', async () => (await fixture.store.anchors.get(row.id))?.confirmed?.version === 1);
    expect((await fixture.store.anchors.get(row.id))!.confirmed!.signature).toBe((await fixture.signatures(row.id))[0]);
    await anchoring.stop();
    await removeRow();
    await fixture.commit(row);
    await fixture.start();
    await until('it is halted', async () => (await halted()) !== null);
    expect(await onChainVersion()).toBe(1);
  });

  test('another chain under the same store halts instead of creating the account anew', async () => {
    const other = await AnchoringFixture.open();
    try {
      Object.defineProperty(fixture.where, 'url', { get: () => other.devLedger.url });
      const anchoring = await fixture.start();
      expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toBeNull();
      expect(await halted()).toMatch(/no longer holds the root that it confirmed/);
      expect(await fixture.client.read(row.id)).toEqual({ status: 'absent' });
    } finally {
      await other.end();
    }
  });

  test('a transaction in flight for another chain does not wait forever', async () => {
    const fresh = await fixture.collection();
    let reached = false;
    const killed = await fixture.start({
      async onStep(step) {
        if (step !== 'persisted') return;
        reached = true;
        await new Promise(() => {});
      },
    });
    void killed.submit(fresh.id, [headOf(0, 1)], 0);
    await until('it is in flight', () => reached);
    const inFlight = (await fixture.store.anchors.get(fresh.id))!;
    const lastValidBlockHeight = String(BigInt(inFlight.inFlight!.lastValidBlockHeight) + 1_000_000n);
    const revision = inFlight.revision + 1;
    // Like a transaction signed for another ledger, whose blocks this one does not have.
    const stranger = { ...inFlight.inFlight!, ...(await signedElsewhere(fresh.id)), lastValidBlockHeight };
    await fixture.store.anchors.put({ ...inFlight, revision, inFlight: stranger });
    await fixture.start();
    await until('it is halted', async () => (await fixture.store.anchors.get(fresh.id))?.halted !== null);
  });

  test('an account whose bytes were changed on the ledger halts', async () => {
    await fixture.devLedger.stop();
    const folder = join(fixture.folder, 'ledger');
    const root = collectionRoot(cut).merkleRoot;
    editAccounts(folder, (_, data) => {
      const at = data.indexOf(root);
      if (at >= 0) data.write(root.startsWith('0') ? '1' : '0', at);
    });
    const tampered = await startDevLedger({ dataDir: fixture.folder, log: SILENT });
    try {
      Object.defineProperty(fixture.where, 'url', { get: () => tampered.url });
      const anchoring = await fixture.start();
      expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toBeNull();
      expect(await halted()).toMatch(/a different root from the one that it confirmed/);
      expect(await onChainVersion()).toBe(1);
    } finally {
      await tampered.stop();
    }
  });

  test('an account that another authority can write is foreign', async () => {
    await fixture.devLedger.stop();
    const folder = join(fixture.folder, 'ledger');
    const account = await fixture.client.address(row.id);
    const authority = Buffer.from(getBase58Encoder().encode(fixture.client.authority));
    editAccounts(folder, (address, data) => {
      // The last occurrence of the authority is the metadata's update authority.
      if (address === account) data[data.lastIndexOf(authority)] ^= 0xff;
    });
    const tampered = await startDevLedger({ dataDir: fixture.folder, log: SILENT });
    try {
      Object.defineProperty(fixture.where, 'url', { get: () => tampered.url });
      expect(await fixture.client.read(row.id)).toMatchObject({ status: 'foreign' });
      const anchoring = await fixture.start();
      expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toBeNull();
      expect(await halted()).toMatch(/Another authority/);
    } finally {
      await tampered.stop();
    }
  });
});

/** A creation that was signed for another ledger, which is gone. */
async function signedElsewhere(collectionId: string): Promise<{ signature: string; wire: string }> {
  const other = await AnchoringFixture.open();
  try {
    const { signature, wire } = await other.client.signCreate(collectionId);
    return { signature, wire };
  } finally {
    await other.end();
  }
}

/** Changes every account in a ledger's journal. `edit` gets each account's address and data. */
function editAccounts(folder: string, edit: (address: string, data: Buffer) => void): void {
  const { journal, lines } = Journal.open(folder);
  journal.close();
  for (const line of lines) {
    const accounts = line.kind === 'transaction' ? line.accounts : line.kind === 'account' ? [line.account] : [];
    for (const account of accounts) {
      const data = Buffer.from(account.data, 'base64');
      edit(account.address, data);
      account.data = data.toString('base64');
    }
  }
  writeFileSync(join(folder, 'journal.ndjson'), lines.map(encodeLine).join(''));
}
