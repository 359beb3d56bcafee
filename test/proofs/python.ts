import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const BATCH = fileURLToPath(new URL('batch.py', import.meta.url));
const VERIFIER = fileURLToPath(new URL('../../examples/verify.py', import.meta.url));

/**
 * Requests by the function of batch.py that answers them. JSON is passed as text, so that the
 * verifier reads exactly what was sent.
 */
export type Request =
  | { of: 'proof'; proof: string; known: Record<string, unknown>; record?: string; fetched?: string }
  | { of: 'canonical'; text: string }
  | { of: 'content'; record: string }
  | { of: 'address'; authority: string; collection: string }
  | { of: 'account'; owner: string; data: string; authority: string; collection: string }
  | {
      of: 'transaction';
      transaction: string;
      authority: string;
      collection: string;
      signature: string;
      root: string;
      version: number;
    }
  | { of: 'signature'; publicKey: string; signature: string; message: string }
  | { of: 'ledger'; rpc: string; authority: string; collection: string; seconds?: number };

/** `error`: the request could not be checked, because an argument is invalid. */
export type PythonAnswer = { is: unknown } | { refused: string } | { error: string };

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** -B keeps Python from writing compiled code into the folder of examples. */
async function runPython(args: readonly string[], input = '', python = 'python3'): Promise<Ended> {
  const child = spawn(python, ['-B', ...args], { stdio: 'pipe' });
  child.stdin.on('error', () => undefined).end(input);
  const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** Answers all requests in order, in one process, with examples/verify.py. */
export const askPython = (requests: readonly Request[]): Promise<PythonAnswer[]> => ask('example', requests);

/** Answers all requests with the package `provec` installed for that Python. */
export const askPackage = (requests: readonly Request[], python: string): Promise<PythonAnswer[]> =>
  ask('package', requests, python);

async function ask(
  verifier: 'example' | 'package',
  requests: readonly Request[],
  python?: string,
): Promise<PythonAnswer[]> {
  const lines = requests.map((request) => `${JSON.stringify(request)}\n`);
  const { code, stdout, stderr } = await runPython([BATCH, verifier], lines.join(''), python);
  const answers = stdout.trimEnd().split('\n');
  if (code !== 0 || answers.length !== requests.length) throw new Error(`batch.py ended with ${code}: ${stderr}`);
  return answers.map((answer) => JSON.parse(answer) as PythonAnswer);
}

/** Runs the script as a person does. */
export const runVerifier = (...args: string[]): Promise<Ended> => runPython([VERIFIER, ...args]);
