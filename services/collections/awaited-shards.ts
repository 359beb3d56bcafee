import { type Caller, call } from '../../lib/actions/call.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { type ShardKey, shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';

/** The shards that somebody waits for: however many wait for one, it is asked for once. */
export class AwaitedShards {
  readonly #caller: Caller;
  readonly #awaited = new Map<ShardKey, { untilMs: number; ready: Promise<unknown> }>();

  /** `caller` must not end with a request. */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Resolves when the shard is open; rejects after `timeoutMs` or a little later. */
  async ready(spec: ShardSpec, timeoutMs: number = INTERNAL_LIMITS.actionTimeoutMs): Promise<void> {
    const key = shardKey(spec.collectionId, spec.index);
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      const awaited = this.#awaited.get(key) ?? this.#ask(key, spec, untilMs);
      try {
        await awaited.ready;
        return;
      } catch (error) {
        // Who asked first had less time.
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
