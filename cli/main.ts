import { ProvecError } from '../client/http/errors.ts';
import { EXIT, failureOf } from './exit-code.ts';
import { interruption, listenForSignals } from './interruption.ts';
import { jsonLine } from './output/json.ts';
import { endOnClosedPipe, writeError, writesEnded } from './output/streams.ts';
import { makeProgram } from './program.ts';

/**
 * Runs a command line and ends the process with its exit code. Errors are one line on stderr; with
 * `--json`, a JSON object follows.
 */
export async function main(args: string[]): Promise<void> {
  endOnClosedPipe();
  listenForSignals();
  // Applies to all output, including errors in the arguments themselves.
  if (args.includes('--no-color')) process.env.NO_COLOR = '1';
  try {
    const program = await makeProgram(args);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = await report(interruption() ?? error, args.includes('--json'));
  }
  await writesEnded();
  process.exit();
}

async function report(error: unknown, isJson: boolean): Promise<number> {
  const { exitCode, ...failure } = failureOf(error);
  if (exitCode === EXIT.done) return exitCode;
  await writeError(failure.message);
  if (!isJson) return exitCode;
  const stored = error instanceof ProvecError && error.storedCount !== undefined;
  const { storedCount } = stored ? error : {};
  process.stderr.write(jsonLine({ ...failure, exitCode, storedCount }));
  return exitCode;
}
