import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

test('the demo shows neighbours, root, transaction, and names the record that was changed on disk', async () => {
  const demo = spawn(process.execPath, [join(import.meta.dirname, '../../examples/demo.ts')], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  try {
    let said = '';
    for (const stream of [demo.stdout, demo.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    const [code] = await once(demo, 'close');
    expect({ code, said }).toMatchObject({ code: 0 });
    expect(said).toMatch(/2000 packages loaded/);
    expect(said).toMatch(/^Packages most like (.+)$/m);
    const [, victim] = /^Packages most like (.+)$/m.exec(said)!;
    expect(said).toMatch(/^ {2}root {9}[0-9a-f]{64}$/m);
    expect(said).toMatch(/^ {2}transaction {2}\w{64,88}$/m);
    expect(said).toMatch(/^ {2}state {6}match$/m);
    expect(said).toMatch(/^ {2}state {6}mismatch /m);
    expect(said).toContain(`  differs    ${victim}: `);
  } finally {
    try {
      process.kill(-demo.pid!, 'SIGKILL');
    } catch {}
  }
});
