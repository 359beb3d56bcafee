/**
 * A test file that only interrupted-run.test.ts runs. Once it and jest's main process have started
 * services, it writes the file PROVEC_TEST_HELD_FILE, and then never ends.
 */
import { writeFile } from 'node:fs/promises';
import { test } from '@jest/globals';
import { startProcess } from './service-process.ts';
import { shareService } from './shared-service.ts';

test('does not end', async () => {
  await Promise.all([startProcess(), shareService('plain')]);
  await writeFile(process.env.PROVEC_TEST_HELD_FILE!, '');
  await new Promise(() => undefined);
});
