/**
 * Chooses the instance responsible for an account. The others forward to it, so that the account
 * has one block of queries and one order of writes.
 * Instances that know the same instances agree (rendezvous hashing). If two consider themselves
 * responsible, the store's conditional updates still enforce the limits.
 * If the responsible instance does not respond, the forwarding one does the work itself, and the
 * next one in the account's order becomes responsible for a while. The failed call may have been
 * carried out, so only actions that may run twice are forwarded.
 */

import { type Caller, call } from '../../contracts/actions/call.ts';
import type { RoutedActions } from '../../contracts/actions/metering.ts';
import { isProvecError } from '../../lib/errors.ts';
import type { AccountId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { Placement } from '../../lib/placement/placement.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../lib/time/timers.ts';
import { UnresponsiveNodes } from '../../mixins/shard-router/unresponsive-nodes.ts';

interface AccountRouterOptions {
  readonly node: string;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Returns the nodes of the other connected instances. */
  peers(): string[];
  /** Whether a node answers a ping within `maxMs`. */
  answers(node: string, maxMs: number): Promise<boolean>;
}

export class AccountRouter {
  readonly #options: AccountRouterOptions;
  readonly #unresponsive: UnresponsiveNodes;
  /** When each node last failed. */
  readonly #failedMs = new Map<string, number>();
  #placement = new Placement([]);

  constructor(options: AccountRouterOptions) {
    this.#options = options;
    const isThere = (node: string): boolean => options.peers().includes(node);
    this.#unresponsive = new UnresponsiveNodes({ ...options, timers: SYSTEM_TIMERS, isThere });
  }

  isOurs(accountId: AccountId): boolean {
    return this.#nodeOf(accountId) === this.#options.node;
  }

  /**
   * Runs an action on the responsible instance; `work` does it here. `undo` gets the result of
   * another instance that arrives after `work` took over.
   */
  async run<N extends keyof RoutedActions>(
    caller: Caller,
    action: N,
    params: RoutedActions[N]['params'],
    work: () => Promise<RoutedActions[N]['result']>,
    undo: (late: RoutedActions[N]['result']) => void = () => undefined,
  ): Promise<RoutedActions[N]['result']> {
    const { node, clock } = this.#options;
    const nodeID = this.#nodeOf(params.accountId);
    if (nodeID === node) return work();
    // Not tracked: a graceful stop must not wait for a node that does not respond.
    const forwarded = call(caller, 'metering.forwarded', { action, params }, { nodeID, tracking: false });
    const answer = forwarded as Promise<RoutedActions[N]['result']>;
    try {
      return await this.#unresponsive.answerFrom(nodeID, answer);
    } catch (error) {
      if (isProvecError(error)) throw error;
      // An answer that fails, too, has nothing to undo.
      answer.then(undo, () => undefined);
      this.#failedMs.set(nodeID, clock.monotonicMs());
      return work();
    }
  }

  /** Stops pinging other nodes. */
  stop(): void {
    this.#unresponsive.stop();
  }

  #nodeOf(accountId: AccountId): string {
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
