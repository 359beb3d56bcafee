import { type Caller, call } from '../../contracts/actions/call.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { type ShardKey, shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';

/** Shards that requests wait for. All requests for a shard share one call. */
export class AwaitedShards {
  readonly #caller: Caller;
  readonly #awaited = new Map<ShardKey, { untilMs: number; ready: Promise<unknown> }>();

  /** `caller` must not be bound to a single request. */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Resolves when the shard is open. Rejects after `timeoutMs` or slightly later, and when the
   * signal aborts. The shared call then continues for later requests.
   */
  async ready(
    spec: ShardSpec,
    timeoutMs: number = INTERNAL_LIMITS.actionTimeoutMs,
    signal?: AbortSignal,
  ): Promise<void> {
    const key = shardKey(spec.collectionId, spec.index);
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      const awaited = this.#awaited.get(key) ?? this.#ask(key, spec, untilMs);
      try {
        await abortable(awaited.ready, signal);
        return;
      } catch (error) {
        signal?.throwIfAborted();
        // The shared call was made with a shorter timeout than this one has; call again.
        if (awaited.untilMs >= untilMs) throw error;
      }
    }
  }

  #ask(key: ShardKey, spec: ShardSpec, untilMs: number): { untilMs: number; ready: Promise<unknown> } {
    const ready = call(this.#caller, 'shards.ready', { shard: spec }, { timeout: untilMs - performance.now() });
    const awaited = { untilMs, ready };
    this.#awaited.set(key, awaited);
    const forget = (): void => {
      if (this.#awaited.get(key) === awaited) this.#awaited.delete(key);
    };
    ready.then(forget, forget);
    return awaited;
  }
}

/** Returns the result of `work`, or rejects as soon as the signal aborts. */
function abortable(work: Promise<unknown>, signal?: AbortSignal): Promise<unknown> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
