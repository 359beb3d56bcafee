/**
 * Which instance is in charge of an account: the others forward to it, so that the account has one
 * block of queries and one order of writes.
 * Promises: instances that see the same ones agree (rendezvous hashing). Only calls and order rest
 * on that: two that both believe they are in charge pass no limit, since the store's conditional
 * changes decide.
 * Fails: what it does not answer, or fails to do, is done by the instance that asked it, and the
 * next in the account's order is in charge for a while. What the first did of it is not known: only
 * what may be done twice is forwarded.
 */
import { type Caller, call } from '../../lib/actions/call.ts';
import type { ChargedActions } from '../../lib/actions/metering.ts';
import { isProvecError } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { Placement } from '../../lib/placement/placement.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../lib/time/timers.ts';
import { UnresponsiveNodes } from '../../mixins/shard-router/unresponsive-nodes.ts';

interface AccountChargeOptions {
  readonly node: string;
  clock: Pick<Clock, 'monotonicMs'>;
  /** The nodes of the other instances that count as connected. */
  peers(): string[];
  /** Whether a node answers a question within `maxMs`. */
  answers(node: string, maxMs: number): Promise<boolean>;
}

export class AccountCharge {
  readonly #options: AccountChargeOptions;
  readonly #unresponsive: UnresponsiveNodes;
  /** Node -> when it failed last. */
  readonly #failedMs = new Map<string, number>();
  #placement = new Placement([]);

  constructor(options: AccountChargeOptions) {
    this.#options = options;
    const isThere = (node: string): boolean => options.peers().includes(node);
    this.#unresponsive = new UnresponsiveNodes({ ...options, timers: SYSTEM_TIMERS, isThere });
  }

  isOurs(accountId: string): boolean {
    return this.#nodeOf(accountId) === this.#options.node;
  }

  /**
   * Has the instance in charge carry out an action: `work` does it here. `undo` gets the answer of
   * another one that was not waited for.
   */
  async run<N extends keyof ChargedActions>(
    caller: Caller,
    action: N,
    params: ChargedActions[N]['params'],
    work: () => Promise<ChargedActions[N]['result']>,
    undo: (late: ChargedActions[N]['result']) => void = () => undefined,
  ): Promise<ChargedActions[N]['result']> {
    const { node, clock } = this.#options;
    const nodeID = this.#nodeOf(params.accountId);
    if (nodeID === node) return work();
    // A stop waits for what is done here, not for what a node that does not answer was asked for.
    const forwarded = call(caller, 'metering.forwarded', { action, params }, { nodeID, tracking: false });
    const answer = forwarded as Promise<ChargedActions[N]['result']>;
    try {
      return await this.#unresponsive.answerFrom(nodeID, answer);
    } catch (error) {
      if (isProvecError(error)) throw error;
      answer.then(undo, () => undefined);
      this.#failedMs.set(nodeID, clock.monotonicMs());
      return work();
    }
  }

  /** Asks nobody any more. */
  stop(): void {
    this.#unresponsive.stop();
  }

  #nodeOf(accountId: string): string {
    const own = this.#options.node;
    const others = this.#options.peers().filter((node) => !this.#isPassedOver(node));
    if (others.length === 0) return own;
    this.#placement = this.#placement.with([own, ...others].map((node) => ({ node, weight: 1 })));
    return this.#placement.preferred(accountId) ?? own;
  }

  #isPassedOver(node: string): boolean {
    const failedMs = this.#failedMs.get(node) ?? Number.NEGATIVE_INFINITY;
    const isFailing = this.#options.clock.monotonicMs() - failedMs < INTERNAL_LIMITS.meteringPassOverMs;
    if (!isFailing) this.#failedMs.delete(node);
    return isFailing || this.#unresponsive.isUnresponsive(node);
  }
}
