import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

const execute = promisify(execFile);

/**
 * Runs a program to its end and returns what it wrote to stdout. Rejects with the program's own
 * complaint if it fails.
 */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, environment = {} }: { cwd: string; environment?: Readonly<Record<string, string>> },
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...environment }, maxBuffer: OUTPUT_MAX_BYTES };
  try {
    return (await execute(program, [...args], options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`.trimEnd(), { cause: error });
  }
}
