import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { call } from '../../../contracts/actions/call.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { EmbeddedLedger } from '../../support/embedded-ledger.ts';
import { startService, type TestService } from '../../support/service.ts';

const mismatch = { state: 'mismatch', verified: false, reason: expect.stringMatching(/^[A-Z].*\.$/) };

/** A service with an anchored collection, `demo`. */
class Anchored {
  readonly service: TestService;
  readonly ledger: EmbeddedLedger;
  readonly collectionId: string;

  private constructor(service: TestService, collectionId: string) {
    this.service = service;
    this.ledger = new EmbeddedLedger(service);
    this.collectionId = collectionId;
  }

  static async start(): Promise<Anchored> {
    const service = await startService({ PROVEC_ANCHOR_WAIT_MS: '1000' });
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
      name: 'demo',
      dimensions: 2,
    });
    const anchored = new Anchored(service, body.collection.id);
    for (const id of ['a', 'b']) await anchored.upsert('demo', id);
    expect(await anchored.verify()).toMatchObject({ state: 'match' });
    return anchored;
  }

  async upsert(name: string, id: string) {
    const records = [{ id, values: [1, 2], metadata: {} }];
    return (await this.service.api('POST', `/collections/${name}/upsert`, { records })).body;
  }

  async verify(name = 'demo') {
    return (await this.service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
  }

  async expectNeverMatch(): Promise<void> {
    expect(await this.verify()).toMatchObject(mismatch);
    expect(await this.upsert('demo', 'c')).toMatchObject({
      upsertedCount: 1,
      ledgerTx: null,
      anchor: { status: 'pending' },
    });
    expect(await this.verify()).toMatchObject(mismatch);
    expect(await this.upsert('demo', 'd')).toMatchObject({ upsertedCount: 1 });
    expect(await this.verify()).toMatchObject(mismatch);
    // The other chain has no account.
    expect(await (await this.ledger.client()).read(this.collectionId)).toEqual({ status: 'absent' });
  }
}

describe('another chain', () => {
  // Each verification waits for RPC nodes that lag, so both services are verified at once.
  let all: [restarted: Anchored, running: Anchored];
  beforeAll(async () => {
    all = await Promise.all([Anchored.start(), Anchored.start()]);
    const [{ service, ledger }, running] = all;
    await service.provec.stop();
    renameSync(ledger.folder, `${ledger.folder}.aside`);
    mkdirSync(ledger.folder);
    await service.restart();
    await running.ledger.stayDown();
    await running.ledger.comeBack('another');
  });
  afterAll(() => Promise.all(all.map(({ service }) => service.stop())));

  test('after a restart, and under the running service: mismatch, before and after writes', () =>
    Promise.all(all.map((each) => each.expectNeverMatch())));

  test('new roots are anchored on this chain', async () => {
    const [restarted] = all;
    await restarted.service.api('POST', '/collections', { name: 'new', dimensions: 2 });
    await restarted.upsert('new', 'a');
    expect(await restarted.verify('new')).toMatchObject({ state: 'match' });
  });

  test('an operator ends it, the right chain alone does not', async () => {
    const [{ service, ledger, collectionId }] = all;
    await service.provec.stop();
    rmSync(ledger.folder, { recursive: true });
    renameSync(`${ledger.folder}.aside`, ledger.folder);
    await service.restart();
    expect(await all[0].verify()).toMatchObject(mismatch);
    await call(service.provec.broker, 'anchoring.resume', { collectionId });
    expect(await all[0].verify()).toMatchObject({ state: 'match', vectorCount: 4 });
  });
});
