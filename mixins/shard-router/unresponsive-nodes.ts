/**
 * Detects nodes that count as connected but hang, or are cut off briefly.
 *
 * A node becomes unresponsive when a caller has waited for it for `AFTER_MS` and it does not answer
 * a ping within `ANSWER_MAX_MS`. It recovers when it answers a ping or counts as disconnected. A
 * node that takes long for a request but answers pings is responsive.
 */
import { settledWithin, type Timers } from '../../lib/time/timers.ts';

const AFTER_MS = 500;
const ANSWER_MAX_MS = 1_000;

interface UnresponsiveNodesOptions {
  timers: Timers;
  /** Whether the node answers a ping within `maxMs`. */
  answers(node: string, maxMs: number): Promise<boolean>;
  /** Whether the node counts as connected. */
  isThere(node: string): boolean;
}

/** Thrown instead of the answer of a node that became unresponsive. */
export class NodeUnresponsive extends Error {
  override name = 'NodeUnresponsive';

  constructor(node: string) {
    super(`${node} does not answer`);
  }
}

export class UnresponsiveNodes {
  readonly #options: UnresponsiveNodesOptions;
  /** Unresponsive nodes, with the function that cancels the next ping. */
  readonly #unresponsive = new Map<string, () => void>();
  readonly #asking = new Map<string, Promise<boolean>>();
  #isStopped = false;

  constructor(options: UnresponsiveNodesOptions) {
    this.#options = options;
  }

  /** Stops pinging. */
  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#unresponsive.values()) cancel();
    this.#unresponsive.clear();
  }

  isUnresponsive(node: string): boolean {
    return this.#unresponsive.has(node);
  }

  /** Returns `answer`, or rejects with NodeUnresponsive if the node stops responding first. */
  async answerFrom<T>(node: string, answer: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    const over = answer.then(end, end);
    for (;;) {
      await settledWithin(this.#options.timers, over, AFTER_MS);
      if (isOver) return answer;
      const answers = await Promise.race([over, this.#answers(node)]);
      if (isOver) return answer;
      if (answers === false) throw new NodeUnresponsive(node);
    }
  }

  /** Pings the node. All callers that wait for a node share one ping. */
  #answers(node: string): Promise<boolean> {
    const asked = this.#asking.get(node);
    if (asked) return asked;
    const asking = this.#options.answers(node, ANSWER_MAX_MS).then((answers) => {
      this.#asking.delete(node);
      this.#unresponsive.get(node)?.();
      if (answers || this.#isStopped || !this.#options.isThere(node)) this.#unresponsive.delete(node);
      else
        this.#unresponsive.set(
          node,
          this.#options.timers.after(AFTER_MS, () => void this.#answers(node)),
        );
      return answers;
    });
    this.#asking.set(node, asking);
    return asking;
  }
}
