/**
 * Which nodes do not answer although they count as connected: one that stands still, or is cut off
 * for less than its heartbeats allow.
 *
 * Promises: a node counts as unresponsive when somebody has waited for it for `AFTER_MS` and it
 * does not answer a question of its own within `ANSWER_MAX_MS`, and does so no more as soon as it
 * answers one, or counts as gone. A node that works on something for long, but answers questions,
 * is not.
 */
import { endedWithin, type Timers } from '../../lib/time/timers.ts';

const AFTER_MS = 500;
const ANSWER_MAX_MS = 1_000;

interface UnresponsiveNodesOptions {
  timers: Timers;
  /** Whether the node answers within `maxMs`. */
  answers(node: string, maxMs: number): Promise<boolean>;
  /** Whether it counts as connected. */
  isThere(node: string): boolean;
}

/** Thrown in place of the answer of a node that became unresponsive. */
export class NodeUnresponsive extends Error {
  override name = 'NodeUnresponsive';

  constructor(node: string) {
    super(`${node} does not answer`);
  }
}

export class UnresponsiveNodes {
  readonly #options: UnresponsiveNodesOptions;
  /** With what ends the next question to it. */
  readonly #unresponsive = new Map<string, () => void>();
  readonly #asking = new Map<string, Promise<boolean>>();
  #isStopped = false;

  constructor(options: UnresponsiveNodesOptions) {
    this.#options = options;
  }

  /** Asks no node any more. */
  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#unresponsive.values()) cancel();
    this.#unresponsive.clear();
  }

  isUnresponsive(node: string): boolean {
    return this.#unresponsive.has(node);
  }

  /**
   * What `answer` gives; rejects with NodeUnresponsive where the node becomes unresponsive before.
   * The answer is not waited for then.
   */
  async answerFrom<T>(node: string, answer: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    const over = answer.then(end, end);
    for (;;) {
      await endedWithin(this.#options.timers, over, AFTER_MS);
      if (isOver) return answer;
      const answers = await Promise.race([over, this.#answers(node)]);
      if (isOver) return answer;
      if (answers === false) throw new NodeUnresponsive(node);
    }
  }

  /** All that wait for a node share one question. */
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
