import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { StartedProcess } from '../support/service-process.ts';

const DEMO = join(import.meta.dirname, '../../examples/demo.ts');

test('shows neighbours, root and transaction, and names the record that was changed on disk', async () => {
  // The demo has its own key, whatever the parent shell sets.
  const demo = new StartedProcess({ PROVEC_BOOTSTRAP_KEY_FILE: '/nowhere' }, [], [process.execPath, DEMO]);
  try {
    const { code } = await demo.ended;
    const { stdout, stderr } = demo;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
    expect(stdout).toMatch(/2000 packages loaded/);
    expect(stdout).toMatch(/^Packages most like (.+)$/m);
    const [, victim] = /^Packages most like (.+)$/m.exec(stdout)!;
    expect(stdout).toMatch(/^ {2}root {9}[0-9a-f]{64}$/m);
    expect(stdout).toMatch(/^ {2}transaction {2}\w{64,88}$/m);
    expect(stdout).toMatch(/^ {2}state {6}match$/m);
    expect(stdout).toMatch(/^ {2}state {6}mismatch /m);
    expect(stdout).toContain(`  differs    ${victim}: `);
  } finally {
    demo.dispose();
    await demo.ended;
  }
});
