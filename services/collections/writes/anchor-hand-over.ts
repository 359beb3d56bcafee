/**
 * Anchors what failed writes have committed, in the background. Each collection has one task,
 * no matter how many of its writes fail, and the task keeps nothing of the requests.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import { planOf } from '../../../contracts/actions/principal.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { committedCut } from '../../../lib/shard/cut.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { CollectionRow } from '../../../store/catalog.ts';

const RETRY = { minMs: 1_000, maxMs: 30_000 };
const RETRIES_MAX = 6;

/** `isStale`: another write failed after the task had begun to read the committed state. */
interface Task {
  isStale: boolean;
}

export class AnchorHandOver {
  readonly #runtime: Pick<Runtime, 'config' | 'store' | 'plans' | 'log'>;
  readonly #caller: Caller;
  readonly #tasks = new Map<CollectionId, Task>();

  /** `caller` must not belong to a request. */
  constructor(runtime: Pick<Runtime, 'config' | 'store' | 'plans' | 'log'>, caller: Caller) {
    this.#runtime = runtime;
    this.#caller = caller;
  }

  /** Anchors the committed state of a collection. `meta` is that of the failed write's calls. */
  begin(row: CollectionRow, meta: object = {}): void {
    const running = this.#tasks.get(row.id);
    if (running) running.isStale = true;
    else void this.#run(row, meta);
  }

  /** Gives up after `RETRIES_MAX` retries; anchoring finds the state by itself minutes later. */
  async #run(row: CollectionRow, meta: object): Promise<void> {
    const task: Task = { isStale: true };
    this.#tasks.set(row.id, task);
    for (let failures = 0; task.isStale; ) {
      task.isStale = false;
      try {
        await this.#submit(row, meta);
      } catch (error) {
        if (failures === RETRIES_MAX) {
          const what = 'could not submit a partly committed write for anchoring';
          this.#runtime.log.warn({ err: error, collectionId: row.id }, what);
          break;
        }
        task.isStale = true;
        await delay(backoffMs(failures++, RETRY), undefined, { ref: false });
      }
    }
    this.#tasks.delete(row.id);
  }

  async #submit(row: CollectionRow, meta: object): Promise<void> {
    const { store } = this.#runtime;
    const caller: Caller = { meta, call: (...given) => this.#caller.call(...given) };
    if (!(await this.#runtime.plans.isAnchored(await planOf(caller, row.accountId)))) return;
    const cut = await committedCut(store.log, row);
    if (cut.every(({ seq }) => seq === 0)) return;
    await call(caller, 'anchoring.submit', { collectionId: row.id, cut, waitMs: 0 });
  }
}
