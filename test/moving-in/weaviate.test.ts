/** A real Weaviate moves in: 20,000 records, 20 kills, tenants, and what Provec does not have. */
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningCommand, startCommandLine } from '../support/command-line.ts';
import { readDebian } from '../support/debian.ts';
import { invariant } from '../support/invariant.ts';
import { killAgain } from '../support/killed-import.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { isWeaviateThere, WeaviateServer } from './weaviate-server.ts';

const RECORDS = 20_000;
const BATCH = 500;
const KILLS = 20;

(isWeaviateThere() ? describe : describe.skip)('from Weaviate', () => {
  let weaviate: WeaviateServer;
  let service: ServiceProcess;
  let folder: string;
  beforeAll(async () => {
    [folder, service] = await Promise.all([mkdtemp(join(tmpdir(), 'provec-weaviate-')), startProcess()]);
    weaviate = await WeaviateServer.start(join(folder, 'weaviate'));
  }, 120_000);
  afterAll(async () => {
    weaviate?.end();
    await service?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const start = (...args: string[]): RunningCommand =>
    startCommandLine(['import-from', 'weaviate', ...args, '--from', weaviate.url], {
      environment: { PROVEC_URL: service.url, PROVEC_KEY: TEST_KEY, XDG_CONFIG_HOME: folder },
      folder,
    });
  const move = async (...args: string[]) => {
    const { code, stdout, stderr } = await start(...args, '--json').ended;
    return { code, stderr, document: stdout === '' ? null : JSON.parse(stdout) };
  };
  const uuid = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;

  test('20,000 real records, killed 20 times: no duplicate, no gap, every value as it was', async () => {
    const { dimensions, vectors, ids, metadata } = readDebian()!;
    const digits = (id: string) => hash('sha256', id);
    const idOf = (id: string) =>
      `${digits(id).slice(0, 8)}-${digits(id).slice(8, 12)}-4${digits(id).slice(13, 16)}-8${digits(id).slice(17, 20)}-${digits(id).slice(20, 32)}`;
    await weaviate.send('POST', '/v1/schema', { class: 'Package', vectorizer: 'none' });
    for (let from = 0; from < RECORDS; from += BATCH) {
      const objects = Array.from({ length: BATCH }, (_, at) => ({
        class: 'Package',
        id: idOf(ids[from + at]),
        properties: { ...JSON.parse(metadata[from + at]), package: ids[from + at] },
        vector: Array.from(vectors.slice((from + at) * dimensions, (from + at + 1) * dimensions)),
      }));
      await weaviate.store(objects);
    }
    const args = ['packages', '--source', 'Package', '--page', '200', '--no-survey', '--json'];
    await killAgain(() => start(...args), join(folder, 'packages.manifest.checkpoint'), KILLS);
    const { code, stdout } = await start(...args).ended;
    expect(code).toBe(0);
    const counts = { count: RECORDS, sourceCount: RECORDS, equal: RECORDS, vectorCount: RECORDS };
    invariant('an import that was killed has every object once', () =>
      expect(JSON.parse(stdout)).toMatchObject({ moved: true, ...counts, plan: { target: { metric: 'cosine' } } }),
    );
    const id = idOf(ids[7]);
    const { body } = await service.api<{ vectors: Record<string, { values: number[]; metadata: object }> }>(
      'POST',
      '/collections/packages/fetch',
      { ids: [id] },
    );
    const { tags: _, ...known } = JSON.parse(metadata[7]);
    expect(body.vectors[id]!.metadata).toMatchObject({ ...known, package: ids[7] });
  }, 900_000);

  test('tenants become namespaces, of one of several vectors; an inactive tenant is named', async () => {
    const vectorOf = (distance: string) => ({
      ...{ vectorizer: { none: {} }, vectorIndexType: 'hnsw', vectorIndexConfig: { distance } },
    });
    await weaviate.send('POST', '/v1/schema', {
      class: 'Note',
      multiTenancyConfig: { enabled: true },
      vectorConfig: { title: vectorOf('dot'), body: vectorOf('cosine') },
    });
    const tenants = (activityStatus: string) => [{ name: 'ann' }, { name: 'bob' }, { name: 'cold', activityStatus }];
    await weaviate.send('POST', '/v1/schema/Note/tenants', tenants('INACTIVE'));
    await weaviate.store(
      ['ann', 'bob'].map((tenant, at) => ({
        ...{ class: 'Note', tenant, id: uuid(1), properties: { text: tenant } },
        vectors: { title: [at, 0.5], ...(at === 0 && { body: [1, 2, 3] }) },
      })),
    );
    const title = ['notes', '--source', 'Note', '--vector-field', 'title'];
    expect((await move('notes', '--source', 'Note')).stderr).toMatch(/several vectors: body, title/);
    expect(await move(...title)).toMatchObject({ code: 3, stderr: expect.stringContaining("not active: 'cold'") });
    await weaviate.send('PUT', '/v1/schema/Note/tenants', [tenants('ACTIVE')[2]!]);
    expect((await move(...title)).stderr).toContain('--leave-out other-vector');
    const moved = await move(...title, '--leave-out', 'other-vector');
    expect(moved).toMatchObject({
      code: 0,
      document: { moved: true, count: 2, plan: { target: { metric: 'dot', dimensions: 2 } } },
    });
    for (const [at, namespace] of ['ann', 'bob'].entries()) {
      const { body } = await service.api('POST', '/collections/notes/fetch', { ids: [uuid(1)], namespace });
      expect(body).toMatchObject({ vectors: { [uuid(1)]: { values: [at, 0.5], metadata: { text: namespace } } } });
    }
  });

  test('a metric that Provec does not have must be replaced; every type of property arrives', async () => {
    const types = { when: 'date', n: 'int', f: 'number', place: 'geoCoordinates', uid: 'uuid', list: 'int[]' };
    await weaviate.send('POST', '/v1/schema', {
      class: 'Odd',
      vectorizer: 'none',
      vectorIndexConfig: { distance: 'manhattan' },
      properties: [
        ...Object.entries(types).map(([name, type]) => ({ name, dataType: [type] })),
        { name: 'sub', dataType: ['object'], nestedProperties: [{ name: 'a', dataType: ['text'] }] },
        { name: 'ref', dataType: ['Odd'] },
      ],
    });
    const properties = {
      ...{ when: '2026-01-02T03:04:05.123456789Z', n: 7, f: 0.1, place: { latitude: 52.25, longitude: 4.5 } },
      ...{ uid: uuid(9), list: [1, 2], sub: { a: 'x' } },
    };
    const [first, second] = [
      { class: 'Odd', id: uuid(1), vector: [0.1, 0.25], properties },
      { class: 'Odd', id: uuid(2), properties: { ref: [{ beacon: `weaviate://localhost/Odd/${uuid(1)}` }] } },
    ];
    await weaviate.store([first]);
    await weaviate.store([second]);
    const odd = ['odd', '--source', 'Odd'];
    expect(await move(...odd)).toMatchObject({ code: 2, stderr: expect.stringContaining('compares by manhattan') });
    const moved = await move(...odd, '--metric', 'euclidean', '--leave-out', 'no-vector');
    expect(moved).toMatchObject({ code: 0, document: { moved: true, count: 1, leftOut: { 'no-vector': 1 } } });
    const { body } = await service.api('POST', '/collections/odd/fetch', { ids: [uuid(1)] });
    expect(body).toMatchObject({ vectors: { [uuid(1)]: { metadata: properties } } });
  });
});
