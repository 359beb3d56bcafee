import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/accounts.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';

const DISK_MIB = 128;
const RESERVE_MIB = 16;
const MIB = 2 ** 20;
const DIMENSIONS = 64;
const RECORDS_PER_WRITE = 500;
const WRITES_MAX = 500;

const disk = mountSmallDisk(DISK_MIB);
if (!disk) console.warn('SKIPPED: the service on a full disk needs root on Linux, to mount a small tmpfs.');

(disk ? describe : describe.skip)('on a disk without room', () => {
  let service: ServiceProcess;
  let writes = 0;
  /** Acknowledged records: ids and values. */
  const stored = new Map<string, number[]>();

  beforeAll(async () => {
    const data = { PROVEC_DATA_DIR: join(disk!.folder, 'data'), PROVEC_DISK_RESERVE_MB: String(RESERVE_MIB) };
    service = await startProcess({ ...data, PROVEC_ANCHOR_WAIT_MS: '0', PROVEC_LOG_LEVEL: 'silent' });
    await service.api('POST', '/collections', { name: 'c', dimensions: DIMENSIONS });
    expect(await upsert()).toMatchObject({ status: 200 });
  });
  afterAll(async () => {
    await service?.dispose();
    disk!.unmount();
  });

  async function upsert() {
    const number = writes++;
    const records = Array.from({ length: RECORDS_PER_WRITE }, (_, i) => ({
      id: `${number}/${i}`,
      values: Array.from({ length: DIMENSIONS }, (_, d) => ((number + i * 7 + d) % 9) + 1),
    }));
    const answer = await service.api('POST', '/collections/c/upsert', { records });
    if (answer.status === 200) for (const { id, values } of records) stored.set(id, values);
    return answer;
  }

  /** Upserts until an upsert is refused, and returns that response. */
  async function upsertUntilRefused() {
    for (let i = 0; i < WRITES_MAX; i++) {
      const answer = await upsert();
      if (answer.status !== 200) return answer;
    }
    throw new Error('the disk never filled up');
  }

  async function expectReads(): Promise<void> {
    const [[id, values]] = stored;
    expect(await service.api('POST', '/collections/c/fetch', { ids: [id] })).toMatchObject({
      status: 200,
      body: { vectors: { [id]: { id, values } } },
    });
    const query = await service.api('POST', '/collections/c/query', { id, topK: 3 });
    expect(query).toMatchObject({ status: 200, body: { matches: [{}, {}, {}] } });
    expect(await service.api('GET', '/collections/c')).toMatchObject({
      status: 200,
      body: { collection: { vector_count: stored.size, merkleRoot: root() } },
    });
  }

  function root(): string {
    return referenceRoot([...stored].map(([id, values]) => referenceLeaf(id, values, {})));
  }

  const refusal = {
    status: 507,
    body: { status: 507, code: 'OUT_OF_CAPACITY', error: expect.stringContaining('reads and deletes still work') },
  };

  test('upserts are refused before the reserve is touched; reads and deletes continue; freed space makes upserts work again', async () => {
    disk!.leave((RESERVE_MIB + 2) * MIB);
    expect(await upsertUntilRefused()).toMatchObject(refusal);
    expect(disk!.freeBytes).toBeGreaterThan((RESERVE_MIB / 2) * MIB);
    await expectReads();
    const ids = [...stored.keys()].slice(-3);
    const removal = await service.api('POST', '/collections/c/delete', { ids });
    for (const id of ids) stored.delete(id);
    expect(removal).toMatchObject({ status: 200, body: { deletedCount: 3, merkleRoot: root() } });
    disk!.leave(DISK_MIB * MIB);
    await eventually(async () => (await upsert()).status === 200);
    await expectReads();
  });

  test('with no space left writes are refused, none is stored in part, and reads continue', async () => {
    disk!.leave(0);
    const error = expect.stringMatching(/reads (and deletes )?still work/);
    for (let i = 0; i < 5; i++)
      expect(await upsertUntilRefused()).toMatchObject({ ...refusal, body: { ...refusal.body, error } });
    const [id] = stored.keys();
    const removal = await service.api('POST', '/collections/c/delete', { ids: [id] });
    expect([200, 507]).toContain(removal.status);
    if (removal.status === 200) stored.delete(id);
    await expectReads();
    disk!.leave(DISK_MIB * MIB);
    await eventually(async () => (await upsert()).status === 200);
    await expectReads();
  });

  test('acknowledged writes survive a kill, and are anchored in the end', async () => {
    await service.kill('SIGKILL');
    await service.restart();
    await expectReads();
    await eventually(async () => (await service.api('GET', '/collections/c/verify')).body.state === 'match');
    expect(await service.api('GET', '/collections/c/verify')).toMatchObject({
      body: { verified: true, onChainRoot: root(), vectorCount: stored.size },
    });
  });
});
