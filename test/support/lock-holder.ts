/**
 * Locks the data directory named in argv and prints the outcome on one line. On success it keeps
 * running until it is killed or its input ends.
 */
import { DataDirError, lockDataDir } from '../../process/data-dir.ts';

try {
  const lock = await lockDataDir(process.argv[2]);
  console.log('locked');
  process.stdin.resume();
  process.stdin.on('end', async () => {
    await lock.release();
    process.exit(0);
  });
} catch (error) {
  if (!(error instanceof DataDirError)) throw error;
  console.log(error.message);
}
