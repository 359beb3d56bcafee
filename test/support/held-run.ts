/**
 * A test file that no run finds by itself (interrupted-run.test.ts names it): once services run
 * that were started by a worker and by jest's main process, it says so in the file
 * PROVEC_TEST_HELD_FILE, and does not end.
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
