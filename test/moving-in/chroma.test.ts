/** A real Chroma moves in: the page, 20,000 records, 20 kills, and what Provec does not have. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Installed, installFolder } from '../clients/installed.ts';
import { PROVEC, type RunningCommand, startCommandLine, startProgram } from '../support/command-line.ts';
import { readDebian } from '../support/debian.ts';
import { invariant } from '../support/invariant.ts';
import { killAgain } from '../support/killed-import.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { ChromaServer } from './chroma-server.ts';

const PYTHON_CLIENT = resolve(import.meta.dirname, '../../python');
const PAGE = resolve(import.meta.dirname, '../../docs/coming-from-chroma.md');
const RECORDS = 20_000;
const KILLS = 20;

let installed: Installed;
let service: ServiceProcess;
let folder: string;
let chroma: ChromaServer;
beforeAll(async () => {
  [installed, folder, service] = await Promise.all([
    installFolder(),
    mkdtemp(join(tmpdir(), 'provec-chroma-')),
    startProcess(),
  ]);
  chroma = await ChromaServer.start(installed, join(folder, 'chroma'), PYTHON_CLIENT);
}, 400_000);
afterAll(async () => {
  chroma?.end();
  await Promise.all([service?.dispose(), installed?.dispose(), rm(folder, { recursive: true, force: true })]);
});

const environment = () => ({ PROVEC_URL: service.url, PROVEC_KEY: TEST_KEY, XDG_CONFIG_HOME: folder });
const start = (...args: string[]): RunningCommand => startCommandLine(args, { environment: environment(), folder });

/** Returns the block of the page with this name, with the addresses of this test. */
async function block(language: string, name: string): Promise<string> {
  const [, text] = new RegExp(`^\`\`\`${language} ${name}\n(.*?)^\`\`\`$`, 'ms').exec(await readFile(PAGE, 'utf8'))!;
  return text
    .replaceAll('port=8000', `port=${chroma.port}`)
    .replaceAll('http://127.0.0.1:8000', chroma.url)
    .replaceAll('http://127.0.0.1:8080', service.url);
}

test('the page: a program of Chroma, the move, and the same program of Provec print what it says', async () => {
  const runPython = async (name: string) => {
    await writeFile(join(folder, `${name}.py`), await block('python', name));
    return startProgram(chroma.python, [`${name}.py`], { environment: environment(), folder }).ended;
  };
  expect(await runPython('before')).toEqual({ code: 0, stdout: await block('text', 'before'), stderr: '' });
  const script = `set -e\nprovec() { "${process.execPath}" "${PROVEC}" "$@"; }\n${await block('sh', 'move')}`;
  const moved = await startProgram('bash', ['-c', script], { environment: environment(), folder }).ended;
  expect(moved).toMatchObject({ code: 0, stderr: '' });
  expect(moved.stdout).toMatch(/MOVED {2}2 of 2 records; every float32 equal to what the source returned; root/);
  expect(await runPython('after')).toEqual({ code: 0, stdout: await block('text', 'after'), stderr: '' });
});

test('20,000 real records, killed 20 times: no duplicate, no gap, and the neighbours are the exact ones', async () => {
  expect(await chroma.fill('packages', RECORDS)).toBe(RECORDS);
  const args = ['import-from', 'chroma', 'packages', '--from', chroma.url, '--page', '200', '--json'];
  const run = () => start(...args, '--no-survey');
  await killAgain(run, join(folder, 'packages.manifest.checkpoint'), KILLS);
  const { code, stdout } = await run().ended;
  expect(code).toBe(0);
  const moved = JSON.parse(stdout);
  invariant('an import that was killed has every record once', () =>
    expect(moved).toMatchObject({
      moved: true,
      count: RECORDS,
      sourceCount: RECORDS,
      equal: RECORDS,
      vectorCount: RECORDS,
    }),
  );
  const again = await start('import-from', 'chroma', 'at-once', '--source', 'packages', '--from', chroma.url, '--json')
    .ended;
  expect(JSON.parse(again.stdout)).toMatchObject({ moved: true, count: RECORDS, merkleRoot: moved.merkleRoot });
  const verified = await start('verify', 'packages', '--manifest', 'packages.manifest').ended;
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('give the root') });
  const data = readDebian()!;
  const { dimensions, vectors, ids } = data;
  const vector = Array.from(vectors.slice(7 * dimensions, 8 * dimensions));
  const { body } = await service.api<{ matches: { id: string; metadata: object }[] }>(
    'POST',
    '/collections/packages/query',
    { vector, topK: 1 },
  );
  const { tags: _, ...metadata } = JSON.parse(data.metadata[7]);
  expect(body.matches[0]).toMatchObject({ id: ids[7], metadata: { ...metadata, document: metadata.summary } });
}, 900_000);

test('what Provec does not have is counted, with a record of Chroma for each', async () => {
  await writeFile(
    join(folder, 'odd.py'),
    `import chromadb
odd = chromadb.HttpClient(host="127.0.0.1", port=${chroma.port}).create_collection("odd", configuration={"hnsw": {"space": "cosine"}})
odd.add(ids=["zero", "long", "big", "good"], embeddings=[[0, 0], [1, 2], [1, 2], [1, 0.1]], documents=[None, "x" * 50000, None, "é"],
        metadatas=[None, {"a": 1}, {"n": 2 ** 60 + 1}, {"tags": ["a", "b"]}], uris=[None, None, None, "file:///good"])
`,
  );
  const filled = await startProgram(chroma.python, ['odd.py'], { folder }).ended;
  expect(filled).toMatchObject({ code: 0, stderr: '' });
  const refused = await start('import-from', 'chroma', 'odd', '--from', chroma.url).ended;
  expect(refused).toMatchObject({ code: 2 });
  for (const issue of ['zero-vector', 'long-text', 'rounded-integer'])
    expect(refused.stdout).toMatch(new RegExp(`^${issue} +1 `, 'm'));
  const { stdout } = await start('import-from', 'chroma', 'odd', '--from', chroma.url, '--leave-out', 'all', '--json')
    .ended;
  expect(JSON.parse(stdout)).toMatchObject({ moved: true, count: 3, sourceCount: 4 });
  const { body } = await service.api<{ vectors: object }>('POST', '/collections/odd/fetch', {
    ids: ['long', 'big', 'good'],
  });
  expect(body.vectors).toEqual({
    long: { id: 'long', values: [1, 2], metadata: { a: 1 } },
    big: { id: 'big', values: [1, 2], metadata: { n: 2 ** 60 } },
    good: { id: 'good', values: [1, 0.1], metadata: { tags: ['a', 'b'], document: 'é', uri: 'file:///good' } },
  });
  const absent = await start('import-from', 'chroma', 'nothing', '--from', chroma.url).ended;
  expect(absent).toMatchObject({ code: 2, stderr: expect.stringContaining('has no collection nothing') });
});
