import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServiceProcess, startProcess } from './service-process.ts';

const WATCH = new URL('./preloaded-watch.ts', import.meta.url).href;
const IDLE_WINDOW_MS = 50;
const IDLE_WINDOWS = 4;
/** Share of a window below which a thread counts as idle: timers and collections still run. */
const IDLE_SHARE = 0.3;

interface Thread {
  id: string;
  /** Time that it waited for a processor. */
  waitedMs: number;
  /** Time that it ran or waited for a processor. */
  wantedMs: number;
}

function since(earlier: readonly Thread[], { id, waitedMs, wantedMs }: Thread): Omit<Thread, 'id'> {
  const before = earlier.find((thread) => thread.id === id);
  return { waitedMs: waitedMs - (before?.waitedMs ?? 0), wantedMs: wantedMs - (before?.wantedMs ?? 0) };
}

/** Measures the processor time and memory of a service in a plain process of its own, on Linux. */
export class WatchedProcess {
  readonly service: ServiceProcess;
  readonly #watchUrl: string;

  private constructor(service: ServiceProcess) {
    this.service = service;
    [, this.#watchUrl] = /^watched at (\S+)$/m.exec(service.stdout)!;
  }

  static async start(environment: Record<string, string>): Promise<WatchedProcess> {
    return new WatchedProcess(await startProcess({ NODE_OPTIONS: `--import=${WATCH}`, ...environment }));
  }

  /**
   * Returns the longest time, in ms of the processor, that the main thread worked during `work`
   * without a turn of its event loop, and the most memory of the process in MiB.
   */
  async during(work: () => Promise<unknown>): Promise<{ heldMs: number; peakMiB: number }> {
    // Makes the peak the present size.
    writeFileSync(this.#file('clear_refs'), '5');
    await fetch(this.#watchUrl, { method: 'POST' });
    await work();
    const heldMs = Number(await (await fetch(this.#watchUrl)).text());
    const [, peakKiB] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(this.#file('status'), 'utf8'))!;
    return { heldMs, peakMiB: Math.round(Number(peakKiB) / 1_024) };
  }

  /**
   * Returns the time, in ms, until all threads were idle for some windows in a row, without the
   * time that the process lacked a processor.
   */
  async untilIdle(): Promise<number> {
    const began = this.#threads();
    const beganMs = performance.now();
    for (let idle = 0; idle < IDLE_WINDOWS; ) {
      const [beforeMs, before] = [performance.now(), this.#threads()];
      await delay(IDLE_WINDOW_MS);
      const idleMs = IDLE_SHARE * (performance.now() - beforeMs);
      idle = this.#threads().every((thread) => since(before, thread).wantedMs < idleMs) ? idle + 1 : 0;
    }
    const tookMs = performance.now() - beganMs - IDLE_WINDOWS * IDLE_WINDOW_MS;
    const lackedMs = Math.max(...this.#threads().map((thread) => since(began, thread).waitedMs));
    return Math.max(0, tookMs - lackedMs);
  }

  #threads(): Thread[] {
    return readdirSync(this.#file('task')).map((id) => {
      const [ranNs, waitedNs] = this.#schedstatOf(id).split(' ').map(Number);
      return { id, waitedMs: waitedNs! / 1e6, wantedMs: (ranNs! + waitedNs!) / 1e6 };
    });
  }

  /** A thread may end after the list of threads was read. */
  #schedstatOf(id: string): string {
    try {
      return readFileSync(this.#file(`task/${id}/schedstat`), 'utf8');
    } catch {
      return '0 0';
    }
  }

  #file(name: string): string {
    return `/proc/${this.service.pid}/${name}`;
  }
}
