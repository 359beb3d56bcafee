import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { moduleBeside } from '../../lib/module-beside.ts';
import { backoffMs } from '../../lib/time/backoff.ts';
import { pause } from '../../lib/time/timers.ts';

const MAIN = fileURLToPath(moduleBeside('./main', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 2_000;
const RESTART = { minMs: 50, maxMs: 5_000 };
const COMPLAINT_MAX_CHARS = 2_000;
/** Minimum lifetime in ms after which a restart counts as successful. */
const HEALTHY_AFTER_MS = 30_000;

export interface DevLedger {
  /** `http://127.0.0.1:<port>`. Changes if the process restarts and its port is taken. */
  readonly url: string;
  readonly pid: number;
  /**
   * Keeps the newest transactions that `payer` (base58) pays for, no matter how many other
   * processes send.
   */
  keepOf(payer: string): void;
  /** Ends the process permanently. No acknowledged transaction is lost. Idempotent. */
  stop(): Promise<void>;
}

export interface DevLedgerOptions {
  dataDir: string;
  log: Logger;
  /** Origins whose web pages may read the ledger. */
  readers?: readonly string[];
}

interface Running {
  child: ChildProcess;
  port: number;
  ended: Promise<void>;
  /** Returns the end of the process's stderr. */
  complaint(): string;
}

/**
 * Starts the embedded ledger as a child process that ends with this one and keeps its state in
 * `<dataDir>/ledger`. Restarts it, with growing pauses, whenever it dies. Rejects with a one-line
 * error if the first start fails.
 */
export async function startDevLedger({ dataDir, log, readers = [] }: DevLedgerOptions): Promise<DevLedger> {
  const folder = join(dataDir, 'ledger');
  const stopping = new AbortController();
  const payers = new Set<string>();
  let running = await startProcess(folder, 0, readers);

  const supervise = async (): Promise<void> => {
    let starts = 0;
    while (true) {
      const startedMs = performance.now();
      await running.ended;
      if (stopping.signal.aborted) return;
      if (performance.now() - startedMs > HEALTHY_AFTER_MS) starts = 0;
      log.warn({ stderr: running.complaint() }, 'The embedded ledger stopped; restarting it.');
      for (let started = false; !started; starts++) {
        await pause(backoffMs(starts, RESTART), stopping.signal);
        if (stopping.signal.aborted) return;
        try {
          running = await startProcess(folder, running.port, readers);
          started = true;
          for (const payer of payers) tellPayer(running.child, payer);
          if (stopping.signal.aborted) endProcess(running.child);
        } catch (error) {
          log.error({ reason: (error as Error).message }, 'The embedded ledger does not restart; still trying.');
        }
      }
    }
  };
  const exited = supervise();

  return {
    get url() {
      return `http://127.0.0.1:${running.port}`;
    },
    get pid() {
      return running.child.pid!;
    },
    keepOf(payer) {
      payers.add(payer);
      tellPayer(running.child, payer);
    },
    async stop() {
      stopping.abort();
      endProcess(running.child);
      await exited;
    },
  };
}

function startProcess(folder: string, preferredPort: number, readers: readonly string[]): Promise<Running> {
  const child = fork(MAIN, [folder, String(preferredPort), ...readers], {
    execArgv: [],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-COMPLAINT_MAX_CHARS);
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return new Promise((resolve, reject) => {
    // Rejects only once the process is gone.
    const fail = (message: string): void => {
      clearTimeout(timer);
      endProcess(child);
      void ended.then(() => reject(new Error(message)));
    };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`The embedded ledger did not start within ${START_TIMEOUT_MS} ms.`);
    }, START_TIMEOUT_MS);
    child.once('message', (message: { kind: 'listening'; port: number } | { kind: 'failed'; message: string }) => {
      if (message.kind === 'failed') return fail(message.message);
      clearTimeout(timer);
      resolve({ child, port: message.port, ended, complaint: () => complaint });
    });
    ended.then(() => fail('The embedded ledger stopped while it was starting.'));
  });
}

/** A process that has ended gets the payer when it is restarted. */
function tellPayer(child: ChildProcess, payer: string): void {
  if (child.connected) child.send({ payer }, () => undefined);
}

function endProcess(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  child.once('exit', () => clearTimeout(timer));
}
