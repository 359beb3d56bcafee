import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { AuditEntriesPage } from '../../contracts/actions/audit.ts';
import { shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const PAGE = join(import.meta.dirname, '../../docs/audit.md');
const CHECK = `
import sys
given = json.load(sys.stdin)
print(json.dumps([hash_of(given["trail"], entry) for entry in given["entries"]]))
`;

test('the Python of docs/audit.md gives the hashes of a running service', async () => {
  const { account, api } = await createTenant(await shareService(), 'enterprise', 'audited');
  await api('POST', '/collections', { name: 'docs', dimensions: 2, tags: { straße: '"ü\n😀', '10': 'a', '9': 'b' } });
  await api('POST', '/keys', { name: 'reader', scopes: ['read'] });
  await api('DELETE', '/collections/absent');
  const { entries } = (await api<AuditEntriesPage>('GET', '/audit')).body;
  const [, code] = /```python\n(.*?)```/s.exec(await readFile(PAGE, 'utf8'))!;
  const input = JSON.stringify({ trail: account.id, entries });
  const { stdout, stderr } = spawnSync('python3', ['-c', code + CHECK], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(entries).toHaveLength(6);
  expect(JSON.parse(stdout)).toEqual(entries.map(({ hash }) => hash));
});
