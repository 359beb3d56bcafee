import { printable } from '../../client/cli/printable.ts';

/** Exit code if stdout cannot be written, for example because a disk is full. */
const UNWRITABLE = 2;

/**
 * Ends the process quietly when the reader of stdout or stderr is gone, as in `provec list | head`,
 * and with a message when stdout cannot be written.
 */
export function endOnClosedPipe(): void {
  process.stderr.on('error', () => process.exit(UNWRITABLE));
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`provec: stdout cannot be written: ${error.message}\n`, () => process.exit(UNWRITABLE));
  });
}

/** Writes to stdout. Resolves when more may be written, so a slow reader slows the command down. */
export function write(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (process.stdout.write(text)) resolve();
    else process.stdout.once('drain', resolve);
  });
}

/** Writes a line for people to stderr. */
export function writeError(message: string): Promise<void> {
  return new Promise((resolve) => process.stderr.write(`provec: ${printable(message)}\n`, () => resolve()));
}

/** Resolves when everything is written: a pipe may still hold output when a command has ended. */
export async function writesEnded(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
