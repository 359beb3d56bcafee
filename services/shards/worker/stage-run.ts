import type { Shard } from '../engine/shard.ts';
import type { Steps } from '../engine/steps.ts';
import type { ShardWrite, Staged } from '../engine/write.ts';
import { type PostedWrite, received } from './posted-write.ts';
import type { WorkerReply } from './protocol.ts';
import { faultOf } from './worker-fault.ts';

/** The staging of one group of writes, from its arrival to its reply, worked on in slices. */
export class StageRun {
  readonly id: number;
  /** What its slices took. */
  tookMs = 0;
  readonly #monotonicMs: () => number;
  readonly #steps: Steps<Staged>;

  constructor(id: number, shard: Shard, writes: PostedWrite[], monotonicMs: () => number) {
    this.id = id;
    this.#monotonicMs = monotonicMs;
    this.#steps = shard.stageSteps(unpacked(writes));
  }

  /**
   * Works for one slice. The reply where that was the last, with what is handed over, else null.
   */
  slice(sliceMs: number): { reply: WorkerReply; transfer: ArrayBuffer[] } | null {
    const startedMs = this.#monotonicMs();
    const beforeMs = this.tookMs;
    try {
      for (;;) {
        const { done, value } = this.#steps.next();
        const sinceMs = this.#monotonicMs() - startedMs;
        this.tookMs = beforeMs + sinceMs;
        if (done) {
          const reply = { id: this.id, result: value, tookMs: this.tookMs };
          return { reply, transfer: value.commit ? [value.commit.body.buffer] : [] };
        }
        if (sinceMs >= sliceMs) return null;
      }
    } catch (error) {
      return { reply: { id: this.id, fault: faultOf(error) }, transfer: [] };
    }
  }
}

/** One write after the other: each takes time to unpack. */
function* unpacked(writes: PostedWrite[]): Iterable<ShardWrite> {
  for (const write of writes) yield received(write);
}
