/**
 * Process of the embedded ledger: `node main.ts <folder> <preferred port> <origin>...`, forked with
 * an IPC channel. Sends its parent the port, or why it cannot start. Exits when the channel closes.
 * The parent may name addresses (`{ payer }`) whose newest transactions are kept even if others
 * send many.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, ownIdentity, type ProcessIdentity } from '../../lib/host/process-identity.ts';
import { OVERWRITE_FLAGS } from '../../lib/host/symbolic-links.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { serveRpc } from './rpc-server.ts';

const PREDECESSOR_WAIT_MS = 5_000;
const PORT_FILE = 'port';

function reportAndExit(message: string): void {
  if (process.connected) process.send?.({ kind: 'failed', message }, () => process.exit(1));
  else process.exit(1);
}

/**
 * Waits for a predecessor whose parent was killed and that is about to exit, since two processes
 * must not write one journal. Throws if it does not exit in time.
 */
async function takeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'process.json');
  const deadline = performance.now() + PREDECESSOR_WAIT_MS;
  while ((await isAlive(await readIdentity(path))) === true) {
    if (performance.now() > deadline) throw new Error(`Another process is using the ledger in ${folder}.`);
    await delay(10);
  }
  await writeFile(path, JSON.stringify(await ownIdentity()), { mode: 0o600, flag: OVERWRITE_FLAGS });
}

/** Returns an identity that matches no process if none can be read. */
async function readIdentity(path: string): Promise<ProcessIdentity> {
  try {
    const { pid, startedAt, place } = JSON.parse(await readFile(path, 'utf8')) as ProcessIdentity;
    if (Number.isSafeInteger(pid) && pid > 0) return { pid, startedAt, place };
  } catch {
    // The file is missing or incomplete.
  }
  return { pid: process.pid, startedAt: '', place: '' };
}

async function loadLiteSvm(): Promise<typeof import('litesvm')> {
  try {
    return await import('litesvm');
  } catch (error) {
    throw new Error(
      'The embedded ledger needs the package litesvm, which cannot be loaded here: install it, set PROVEC_SOLANA_RPC_URLS to a ledger to use instead, or turn anchoring off with PROVEC_LEDGER=off.',
      { cause: error },
    );
  }
}

async function run(folder: string, asked: number, readers: string[]): Promise<void> {
  const [module] = await Promise.all([loadLiteSvm(), takeFolder(folder)]);
  const { journal, lines } = Journal.open(folder);
  const ledger = new Ledger(module, journal, lines);
  const remembered = join(folder, PORT_FILE);
  // The port used last, because explorer links that were given out contain it. Without the file,
  // the system chooses one.
  const before = asked || Number(await readFile(remembered, 'utf8').catch(() => 0));
  const preferredPort = Number.isInteger(before) && before > 0 && before < 65_536 ? before : 0;
  const onFatal = (error: Error) => reportAndExit(error.message);
  const port = await serveRpc(ledger, { preferredPort, readers, onFatal });
  await writeFile(remembered, String(port), { mode: 0o600, flag: OVERWRITE_FLAGS });
  process.on('message', ({ payer }: { payer: string }) => {
    try {
      ledger.keepOf(payer);
    } catch (error) {
      onFatal(error as Error);
    }
  });
  process.send?.({ kind: 'listening', port });
}

process.on('disconnect', () => process.exit(0));
// Ignores signals: Ctrl-C and most supervisors signal the whole group, but the parent needs the
// ledger until it stops it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
if (!process.connected) process.exit(1);
const [folder = '', port, ...readers] = process.argv.slice(2);
run(folder, Number(port ?? 0), readers).catch((error: unknown) => {
  reportAndExit(error instanceof Error ? error.message : String(error));
});
