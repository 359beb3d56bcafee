import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ApiDocument } from '../support/api-document.ts';
import { shareService } from '../support/shared-service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/**
 * Neither linter is a dependency: with its own dependencies it is three times as large as Provec.
 */
const LINTERS = [
  ['@redocly/cli@2.77.0', 'redocly', 'lint', '--config', '.redocly.yaml'],
  ['@stoplight/spectral-cli@6.16.3', 'spectral', 'lint', '--ruleset', '.spectral.yaml', '--fail-severity', 'hint'],
] as const;
/** Disables telemetry. */
const SILENT = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', SCARF_ANALYTICS: 'false' };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'provec-linted-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function lint([source, ...command]: (typeof LINTERS)[number], document: object): { isClean: boolean; output: string } {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(document));
  const args = ['--yes', `--package=${source}`, '--', ...command, file];
  const { status, stdout, stderr } = spawnSync('npx', args, {
    cwd: ROOT,
    env: { ...process.env, ...SILENT },
    encoding: 'utf8',
  });
  return { isClean: status === 0, output: `${stdout}\n${stderr}` };
}

async function documentOf(kind: 'anchored' | 'unmanaged', base = ''): Promise<ApiDocument['json']> {
  const { url } = await shareService(kind);
  return new ApiDocument(await (await fetch(`${url}${base}/openapi.json`)).json()).json;
}

test.each(LINTERS)(
  '%s finds nothing, with and without an operator token, and nothing under /pinecone',
  async (...linter) => {
    for (const [kind, base] of [['anchored'], ['unmanaged'], ['anchored', '/pinecone']] as const) {
      const { isClean, output } = lint(linter, await documentOf(kind, base));
      expect(isClean ? '' : output).toBe('');
      expect(output).not.toMatch(/\b[1-9]\d* (warning|error|problem)/);
    }
  },
);

test.each(LINTERS)('%s would find a duplicate operation id, and an example of another shape', async (...linter) => {
  const [document, other] = [await documentOf('anchored'), await documentOf('anchored')];
  document.paths['/api/v1/collections']!.post!.operationId = 'listCollections';
  const media = other.paths['/api/v1/collections']!.post!.requestBody!.content!['application/json']!;
  for (const example of Object.values(media.examples!)) example.value = { name: 'notes', dimensions: 'three' };
  expect([lint(linter, document).isClean, lint(linter, other).isClean]).toEqual([false, false]);
});
