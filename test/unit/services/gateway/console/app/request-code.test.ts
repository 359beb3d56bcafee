import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { requestCode } from '../../../../../../services/gateway/console/app/pages/collection/request-code.ts';

const AWKWARD = { filter: { text: 'it\'s "so" $HOME `id` \\ \n', n: null, yes: true, list: [1, 'ü'] }, topK: 3 };

test('a shell passes the body of the curl line on as it is', () => {
  const { curl } = requestCode('http://127.0.0.1:1', 'notes', 'query', AWKWARD);
  const { stdout } = spawnSync('sh', ['-c', curl.replace('curl', 'printf "%s\\n"')], { encoding: 'utf8' });
  expect(JSON.parse(stdout.trimEnd().split('\n').at(-1)!)).toEqual(AWKWARD);
  expect(stdout).toContain('http://127.0.0.1:1/api/v1/collections/notes/query');
});

test('Python gets its own literals and names', () => {
  const { Python } = requestCode('http://127.0.0.1:1', 'notes', 'query', { ...AWKWARD, includeMetadata: false });
  expect(Python.split('\n').at(-1)).toBe(
    'print(provec.collection("notes").query(filter={"text": "it\'s \\"so\\" $HOME `id` \\\\ \\n", "n": None, "yes": True, "list": [1, "ü"]}, top_k=3, include_metadata=False))',
  );
});

test('characters that show nothing are escaped', () => {
  for (const code of Object.values(requestCode('http://127.0.0.1:1', 'notes', 'query', { id: 'a\u202e\u200b\0' }))) {
    expect(code).toContain('a\\u202e\\u200b\\u0000');
    expect(code).not.toMatch(/[\u202e\u200b]/);
  }
});

test('no program contains a key', () => {
  for (const code of Object.values(requestCode('http://127.0.0.1:1', 'notes', 'upsert', { records: [] })))
    expect(code).toContain('PROVEC_KEY');
});
