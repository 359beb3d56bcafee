/** The waiting work of one account. */
export interface FairFlow {
  readonly account: string;
  /** Virtual time at which the account's next piece of work begins. */
  startTag: number;
}

/**
 * Accounts that share a resource, and the order in which those that wait get it.
 *
 * The flow with the smallest start tag is next. The caller adds the cost of a flow's work to the
 * flow's tag, so accounts take turns by what they have used. An idle flow accumulates no credit.
 *
 * Source: start-time fair queueing, SFQ(D), of Jin, Chase and Kaur, "Interposed Proportional
 * Sharing for a Storage Service Utility" (2004).
 */
export class FairFlows<Flow extends FairFlow> {
  readonly #make: (account: string) => Flow;
  readonly #flows = new Map<string, Flow>();
  readonly #waiting = new Set<Flow>();
  #virtualTime = 0;

  /** `make` creates a flow without waiting work. */
  constructor(make: (account: string) => Flow) {
    this.#make = make;
  }

  /** Number of flows, including idle ones that are kept for what they have used. */
  get size(): number {
    return this.#flows.size;
  }

  get waiting(): ReadonlySet<Flow> {
    return this.#waiting;
  }

  [Symbol.iterator](): Iterator<Flow> {
    return this.#flows.values();
  }

  /** Returns the account's flow, which is created if it does not exist. */
  of(account: string): Flow {
    let flow = this.#flows.get(account);
    if (flow === undefined) {
      flow = this.#make(account);
      this.#flows.set(account, flow);
    }
    if (!this.#waiting.has(flow)) flow.startTag = Math.max(flow.startTag, this.#virtualTime);
    return flow;
  }

  /** Sets whether the flow has waiting work. */
  setWaiting(flow: Flow, isWaiting: boolean): void {
    if (isWaiting) this.#waiting.add(flow);
    else this.#waiting.delete(flow);
  }

  /** Returns the next waiting flow that `mayBegin` accepts; null if there is none. */
  next(mayBegin: (flow: Flow) => boolean = () => true): Flow | null {
    let first: Flow | null = null;
    for (const flow of this.#waiting) {
      if (first !== null && first.startTag <= flow.startTag) continue;
      if (mayBegin(flow)) first = flow;
    }
    return first;
  }

  /** Advances virtual time to the flow's start tag, because a piece of its work begins. */
  begin(flow: Flow): void {
    this.#virtualTime = Math.max(this.#virtualTime, flow.startTag);
  }

  /** Whether the others have used as much as the flow, so that it need not be kept while idle. */
  hasCaughtUp(flow: Flow): boolean {
    return flow.startTag <= this.#virtualTime;
  }

  /** Forgets a flow that has no waiting work. */
  forget({ account }: Flow): void {
    this.#flows.delete(account);
  }

  /** Forgets idle flows that have used no more than the others; all of them if none waits. */
  forgetIdle(): void {
    const mayForget = (flow: Flow) => !this.#waiting.has(flow) && this.hasCaughtUp(flow);
    if (this.#waiting.size === 0) this.clear();
    else for (const flow of this.#flows.values()) if (mayForget(flow)) this.forget(flow);
  }

  /** Forgets all flows, none of which may have waiting work. */
  clear(): void {
    this.#flows.clear();
    this.#virtualTime = 0;
  }
}
