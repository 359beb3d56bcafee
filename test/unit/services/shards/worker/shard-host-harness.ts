import { type ShardKey, shardKey } from '../../../../../lib/shard/key.ts';
import type { ShardMatch } from '../../../../../lib/shard/match.ts';
import type { ShardSpec } from '../../../../../lib/shard/spec.ts';
import { memoryEngine } from '../../../../../services/shards/engine/memory-engine.ts';
import type { ShardQuery, ShardWrite } from '../../../../../services/shards/engine/port.ts';
import type { EngineOptions } from '../../../../../services/shards/engine/shard.ts';
import type {
  IndexNotice,
  SizeNotice,
  WorkerFault,
  WorkerOp,
  WorkerOps,
  WorkerReply,
  WorkerRequest,
} from '../../../../../services/shards/worker/protocol.ts';
import { type HostOptions, ShardHost } from '../../../../../services/shards/worker/shard-host.ts';
import { specWith } from '../../../../support/shard-engine.ts';

/**
 * Time that each read of the harness's clock takes. With `stepNs: 1` this is the time of a step.
 */
export const LOOK_MS = 0.25;
/** More turns than any test needs. */
const TURNS_MAX = 20_000;

/**
 * A host without a thread. The test gives it turns, and its clock advances only when it is read.
 */
export class HostHarness {
  nowMs = 0;
  turns = 0;
  longestTurnMs = 0;
  /** Ids in the order of their responses. */
  readonly answered: number[] = [];
  readonly notices: (SizeNotice | IndexNotice)[] = [];
  readonly timers: { dueMs: number; run: () => void }[] = [];
  readonly #replies = new Map<number, WorkerReply>();
  readonly #host: ShardHost;
  #later: (() => void)[] = [];
  #nextId = 1;

  constructor({ engine, ...options }: HostOptions & { engine?: EngineOptions } = {}) {
    this.#host = new ShardHost(
      memoryEngine({ stepNs: 1, monotonicMs: () => this.look(), ...engine }),
      (message) => {
        if (message.id === null) this.notices.push(message);
        else {
          this.answered.push(message.id);
          this.#replies.set(message.id, message);
        }
      },
      (run) => this.#later.push(run),
      {
        monotonicMs: () => this.look(),
        timers: {
          after: (ms, run) => {
            const timer = { dueMs: this.nowMs + ms, run };
            this.timers.push(timer);
            return () => {
              const at = this.timers.indexOf(timer);
              if (at >= 0) this.timers.splice(at, 1);
            };
          },
        },
        ...options,
      },
    );
  }

  look(): number {
    this.nowMs += LOOK_MS;
    return this.nowMs;
  }

  /** Creates an open shard. */
  open(collectionId: string, changes: Partial<ShardSpec> = {}): ShardKey {
    const spec = specWith({ collectionId, dimensions: 2, ...changes });
    const key = shardKey(collectionId, 0);
    this.result(this.send('create', { key, spec }));
    return key;
  }

  /** Returns the request's id. */
  send<O extends WorkerOp>(op: O, params: WorkerOps[O]['params']): number {
    const id = this.#nextId++;
    this.#host.receive({ id, op, params } as WorkerRequest);
    return id;
  }

  cancel(key: ShardKey, id: number): void {
    this.#host.cancel({ cancel: id, key });
  }

  query(key: ShardKey, query: ShardQuery, pageMaxBytes = Number.MAX_VALUE): number {
    return this.send('query', { key, query, pageMaxBytes });
  }

  /** Stages and commits; returns the id of the commit. */
  write(key: ShardKey, ...writes: ShardWrite[]): number {
    const stage = this.send('stage', { key, writes });
    this.turnsUntil(stage);
    this.result(stage);
    return this.send('commit', { key });
  }

  isAnswered(id: number): boolean {
    return this.#replies.has(id);
  }

  result<T>(id: number): T {
    const reply = this.#replies.get(id);
    if (reply === undefined) throw new Error(`Request ${id} is not answered.`);
    if ('fault' in reply) throw new Error(`Request ${id} was refused: ${reply.fault.message}`);
    return reply.result as T;
  }

  matches(id: number): ShardMatch[] {
    return this.result<WorkerOps['query']['result']>(id).items;
  }

  fault(id: number): WorkerFault {
    const reply = this.#replies.get(id);
    if (reply === undefined || !('fault' in reply)) throw new Error(`Request ${id} was not refused.`);
    return reply.fault;
  }

  /** Gives the host a turn; returns false when it needs none. */
  turn(): boolean {
    const [run, ...others] = this.#later;
    if (run === undefined) return false;
    this.#later = others;
    const startedMs = this.nowMs;
    run();
    this.turns++;
    this.longestTurnMs = Math.max(this.longestTurnMs, this.nowMs - startedMs);
    return true;
  }

  /** Gives turns until the request is answered; returns their number. */
  turnsUntil(id: number): number {
    let given = 0;
    for (; !this.isAnswered(id); given++) {
      if (!this.turn()) throw new Error(`Nobody works on request ${id}.`);
      if (given > TURNS_MAX) throw new Error(`Request ${id} finds no end.`);
    }
    return given;
  }

  /** Gives turns until the host needs none. */
  settle(): void {
    for (let given = 0; this.turn(); given++) if (given > TURNS_MAX) throw new Error('The host finds no end.');
  }

  /** Fires the first timer. */
  fire(): void {
    const timer = this.timers.shift();
    if (timer === undefined) throw new Error('No timer is set.');
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    timer.run();
  }
}
