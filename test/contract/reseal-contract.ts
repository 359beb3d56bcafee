import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DEFAULT_PLANS, planLimitsText } from '../../lib/plans.ts';
import { type StoreKeys, storeKeys } from '../../lib/secret/keyring.ts';
import { isInvalidHead } from '../../lib/shard/head.ts';
import { type Store, StoreError } from '../../store/port.ts';
import { auditSeals, resealAll, type SealFinding, TRUST_NOTHING, type TrustPolicy } from '../../store/resealer.ts';
import type { StoredSeals, StoreToReseal } from '../../store/resealing.ts';
import { isThorough } from '../support/effort.ts';
import { TEST_SECRET } from '../support/store-keys.ts';
import { collect, entry, newAccount, newCollection, newKey } from './store-rows.ts';

/** A store on fresh data that can be opened under any secrets. The caller closes what it opens. */
export interface StoreUnderSecrets {
  open(keys: StoreKeys): Promise<Store>;
  /**
   * `onStep` is awaited at each point where a process could die in the middle of a write, if this
   * adapter has such points.
   */
  toReseal(keys: StoreKeys, trustsLog: boolean, onStep: () => Promise<void>): Promise<StoreToReseal>;
  forger(): Promise<Store>;
  changeBody(shard: string, seq: number, body: Uint8Array): Promise<void>;
  destroy(): Promise<void>;
}

const MIB = 1024 * 1024;
const secret = (number: number): string => `the secret of the installation, number ${number}`;
const under = (...numbers: number[]): StoreKeys => storeKeys(numbers.map(secret) as [string, ...string[]]);
const BELIEVE_ALL: TrustPolicy = { row: () => true, log: () => true };
/** Interrupts at every n-th possible point. */
const EVERY = isThorough ? 1 : 9;
const CUT_OFF = new Error('cut off');

const account = newAccount({ plan: 'pro' });
const collection = newCollection({ accountId: account.id, shards: 4 });
const plan = { name: 'gold', limits: planLimitsText(DEFAULT_PLANS.pro) };
const dropped = newCollection({ accountId: account.id, name: 'dropped' });
const alias = { accountId: account.id, alias: 'alias', collectionId: collection.id, createdAt: account.createdAt };
const keys = [1, 2].map(() => newKey({ accountId: account.id }));
/** One log that grows and was trimmed, one that was trimmed to its end, and one with one entry. */
const [GROWING, TRIMMED, SHORT] = [0, 1, 2].map((index) => `${collection.id}.${index}`);

export function resealContract(name: string, make: () => Promise<StoreUnderSecrets>): void {
  describe(`resealing: ${name}`, () => {
    let subject: StoreUnderSecrets;
    beforeEach(async () => {
      subject = await make();
    });
    afterEach(() => subject.destroy());

    const within = async <T>(opening: Promise<Store>, work: (store: Store) => Promise<T>): Promise<T> => {
      const store = await opening;
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    };

    async function reseal(
      run: typeof resealAll,
      keysOfRun: StoreKeys,
      policy: TrustPolicy = TRUST_NOTHING,
      step: () => Promise<void> = async () => undefined,
    ): Promise<SealFinding[]> {
      const store = await subject.toReseal(keysOfRun, policy !== TRUST_NOTHING, step);
      try {
        const findings: SealFinding[] = [];
        for await (const finding of run(stepped(store.seals, step), keysOfRun, policy)) findings.push(finding);
        return findings;
      } finally {
        await store.close();
      }
    }

    /** Writes rows under a first secret, then more rows under a second secret. */
    async function fill(): Promise<void> {
      await within(subject.open(under(1)), async (store) => {
        await store.plans.put(plan);
        await store.catalog.createAccount(account);
        await store.keys.create(keys[0], null);
        await store.audit.append(account.id, { number: 1 });
        for (const row of [collection, dropped]) await store.catalog.createCollection(row, null);
        await store.aliases.put(alias, 1);
        for (const seq of [1, 2, 3]) await store.log.append(entry(GROWING, seq));
        for (const seq of [1, 2]) await store.log.append(entry(TRIMMED, seq));
        await store.log.append(entry(SHORT, 1));
        await store.log.trim(TRIMMED, 2);
      });
      await within(subject.open(under(2, 1)), async (store) => {
        await store.keys.create(keys[1], null);
        await store.audit.append(account.id, { number: 2 });
        await store.catalog.dropCollection(dropped.id, true);
        for (const seq of [4, 5]) await store.log.append(entry(GROWING, seq));
        await store.log.trim(GROWING, 1);
        const folder = await store.checkpoints.stage(GROWING);
        await writeFile(join(folder, 'part'), 'of a checkpoint');
        await store.checkpoints.put(GROWING, 3, folder);
      });
    }

    async function expectSound(store: Store, hasAudit = true): Promise<void> {
      const { catalog, log } = store;
      const { items } = await store.audit.page(account.id, 0, 10);
      expect(items.map(({ entry: found }) => found?.number)).toEqual(hasAudit ? [1, 2] : [undefined, undefined]);
      expect(items.every(({ fault }) => (fault === null) === hasAudit)).toBe(true);
      expect(await store.plans.list()).toEqual([plan]);
      expect(await catalog.listAccounts()).toEqual([account]);
      expect(await catalog.getCollection(collection.id)).toEqual(collection);
      expect(await store.aliases.page(account.id, null, 10)).toMatchObject({ rows: [alias], next: null });
      expect(await collect(catalog.allCollections())).toEqual([collection]);
      const found = await Promise.all(keys.map(({ hash }) => store.keys.findByHash(hash)));
      expect(found).toEqual(keys);
      const read = await log.read(GROWING, 1, MIB);
      expect(read.map(({ seq, kind }) => [seq, kind])).toEqual([2, 3, 4, 5].map((seq) => [seq, 'write']));
      for (const shard of [GROWING, TRIMMED, SHORT])
        expect([shard, await log.audit(shard, 100)]).toEqual([shard, null]);
      const heads = await log.heads(collection.id);
      expect([...heads].map(([index, head]) => [index, head.seq, isInvalidHead(head)])).toEqual([
        [0, 5, false],
        [1, 2, false],
        [2, 1, false],
      ]);
    }

    test('rows sealed under any of the secrets are valid under the first alone, and stay so', async () => {
      await fill();
      const findings = await reseal(resealAll, under(3, 2, 1));
      expect(findings.filter(({ isRefused }) => isRefused)).toEqual([]);
      await within(subject.open(under(3)), async (store) => {
        await expectSound(store);
        expect(await store.catalog.listDropped()).toEqual([dropped]);
        expect(await store.checkpoints.fetch(GROWING, 3)).not.toBeNull();
        for (const [shard, seq] of [[GROWING, 6] as const, [TRIMMED, 3] as const])
          expect(await store.log.append(entry(shard, seq))).toBe('committed');
        for (const shard of [GROWING, TRIMMED]) expect(await store.log.audit(shard, 10)).toBeNull();
      });
      const again = await reseal(auditSeals, under(3));
      expect(again.map(stateOf)).toEqual(again.map(() => 'current'));
    });

    test('a dry run reports the same, and changes nothing', async () => {
      await fill();
      const before = await reseal(auditSeals, under(3, 2, 1));
      expect(await reseal(auditSeals, under(3, 2, 1))).toEqual(before);
      expect(before.map(stateOf)).toEqual(before.map(() => 'earlier'));
      await within(subject.open(under(2, 1)), (store) => expectSound(store));
      expect(await reseal(resealAll, under(3, 2, 1))).toEqual(before);
    });

    test('rows written without the secret get no seal', async () => {
      await within(subject.open(storeKeys([TEST_SECRET])), async (store) => {
        await store.catalog.createAccount(account);
        await store.log.append(entry(SHORT, 1));
      });
      const forged = {
        plan,
        account: newAccount(),
        key: newKey(),
        collection: newCollection({ accountId: account.id }),
      };
      await within(subject.forger(), async (store) => {
        await store.plans.put(forged.plan);
        await store.catalog.createAccount(forged.account);
        await store.catalog.createCollection(forged.collection, null);
        await store.keys.create(forged.key, null);
        await store.log.append(entry(SHORT, 2));
        await store.log.append(entry(TRIMMED, 1));
      });
      const findings = await reseal(resealAll, storeKeys([secret(3), TEST_SECRET]));
      const refused = findings.filter(({ isRefused }) => isRefused);
      expect(refused.map((finding) => (finding.what === 'row' ? finding.stored.kind : finding.shard)).sort()).toEqual(
        [SHORT, TRIMMED, 'plan', 'account', 'collection', 'API key'].sort(),
      );
      await within(subject.open(under(3)), async (store) => {
        expect(await store.catalog.listAccounts()).toEqual([account]);
        await expect(store.catalog.getCollection(forged.collection.id)).rejects.toMatchObject({ kind: 'damaged' });
        expect(await store.keys.findByHash(forged.key.hash)).toBeNull();
        expect((await store.log.read(SHORT, 0, MIB)).map(({ kind }) => kind)).toEqual(['write', 'damaged']);
        for (const shard of [SHORT, TRIMMED]) expect(isInvalidHead((await store.log.head(shard))!)).toBe(true);
      });
    });

    test('interrupted anywhere, it is valid under both secrets, or refused until it was run again', async () => {
      await fill();
      await reseal(resealAll, under(3, 2, 1));
      let isCutOff = true;
      let isEverRefused = false;
      for (let at = 0, last = 3; isCutOff; at += EVERY, last++) {
        const next = last + 1;
        isCutOff = await isCutOffAt(at, (cut) => reseal(resealAll, under(next, last), TRUST_NOTHING, cut));
        const opening = subject.open(under(next, last));
        const refusal = await opening.then(
          () => null,
          (error: unknown) => error,
        );
        if (refusal === null) await within(opening, (store) => expectSound(store));
        else {
          isEverRefused = true;
          expect(refusal).toBeInstanceOf(StoreError);
          expect(String(refusal)).toMatch(/is being resealed/);
          expect(isCutOff).toBe(true);
        }
        const findings = await reseal(resealAll, under(next, last));
        expect(findings.filter(({ isRefused }) => isRefused)).toEqual([]);
        await within(subject.open(under(next)), (store) => expectSound(store));
      }
      expect(isEverRefused).toBe(name === 'MongoDB');
    });

    test('after a lost secret, only accepted rows are sealed', async () => {
      await fill();
      await subject.changeBody(GROWING, 4, Buffer.from('of somebody else'));
      const onlyLost = { ...BELIEVE_ALL, row: ({ kind }: { kind: string }) => kind !== 'API key' };
      const findings = await reseal(resealAll, under(3), onlyLost);
      const refused = findings.filter(({ isRefused }) => isRefused);
      expect(
        refused.map((finding) => (finding.what === 'row' ? finding.stored.kind : finding.found.refusedSeqs)),
      ).toEqual([[4], 'API key', 'API key', 'audit entry', 'audit entry', 'checkpoint']);
      await within(subject.open(under(3)), async (store) => {
        expect(await store.catalog.getCollection(collection.id)).toEqual(collection);
        expect(await store.keys.findByHash(keys[0].hash)).toBeNull();
        expect((await store.log.read(GROWING, 1, MIB)).map(({ kind }) => kind)).toEqual([
          'write',
          'write',
          'damaged',
          'write',
        ]);
        expect(await store.log.audit(GROWING, 10)).toBe(4);
        expect(isInvalidHead((await store.log.head(GROWING))!)).toBe(false);
      });
      await reseal(resealAll, under(3), BELIEVE_ALL);
      await within(subject.open(under(3)), async (store) => expect(await store.keys.list(account.id)).toHaveLength(2));
    });

    test('after a lost secret no start succeeds before everything is sealed, wherever it was interrupted', async () => {
      await fill();
      let isCutOff = true;
      for (let at = 0, last = 2; isCutOff; at += EVERY, last++) {
        const next = last + 1;
        isCutOff = await isCutOffAt(at, (cut) => reseal(resealAll, under(next), BELIEVE_ALL, cut));
        if (isCutOff) await expect(subject.open(under(next))).rejects.toThrow(/another secret|is being resealed/);
        await reseal(resealAll, under(next), BELIEVE_ALL);
        await within(subject.open(under(next)), (store) => expectSound(store, false));
      }
    });

    test('a log can be read regardless of who sealed it', async () => {
      await fill();
      const store = await subject.toReseal(under(3), true, async () => undefined);
      expect((await store.log.read(GROWING, 1, MIB)).map(({ kind }) => kind)).toEqual([
        'write',
        'write',
        'write',
        'write',
      ]);
      expect(isInvalidHead((await store.log.head(TRIMMED))!)).toBe(false);
      expect(await store.seals.matchesInstallation()).toBe(false);
      await store.close();
    });
  });
}

/** Whether the run reached step number `at`, where it is interrupted. */
async function isCutOffAt(at: number, run: (step: () => Promise<void>) => Promise<unknown>): Promise<boolean> {
  let steps = 0;
  const cut = async (): Promise<void> => {
    if (steps++ === at) throw CUT_OFF;
  };
  try {
    await run(cut);
    return false;
  } catch (error) {
    if (error !== CUT_OFF) throw error;
    return true;
  }
}

/** The seals, with a step before each write at which a process could die. */
function stepped(seals: StoredSeals, step: () => Promise<void>): StoredSeals {
  const after = async <T>(write: () => Promise<T>): Promise<T> => {
    await step();
    return write();
  };
  return {
    matchesInstallation: () => seals.matchesInstallation(),
    rows: () => seals.rows(),
    shards: () => seals.shards(),
    begin: () => after(() => seals.begin()),
    replaceSeal: (row, seal) => after(() => seals.replaceSeal(row, seal)),
    resealLog: (shard, options) => after(() => seals.resealLog(shard, options)),
    finish: () => after(() => seals.finish()),
  };
}

function stateOf(finding: SealFinding): string {
  if (finding.what === 'row') return finding.state;
  const { current, earlier, none } = finding.found;
  return none > 0 ? 'none' : earlier > 0 ? 'earlier' : current > 0 ? 'current' : 'empty';
}
