/** Store operations, and messages between nodes, over virtual time. */
export type TrafficKind = 'operations' | 'rows' | 'messages' | 'heartbeats' | 'infos';

export interface Rate {
  perSecond: number;
  /** Count in the busiest second. */
  peak: number;
}

export class Traffic {
  readonly #seconds = new Map<TrafficKind, number[]>();

  add(kind: TrafficKind, count: number, nowMs: number): void {
    const seconds = this.#seconds.get(kind) ?? [];
    this.#seconds.set(kind, seconds);
    const second = Math.floor(nowMs / 1_000);
    seconds[second] = (seconds[second] ?? 0) + count;
  }

  between(kind: TrafficKind, fromMs: number, untilMs: number): Rate {
    const from = Math.floor(fromMs / 1_000);
    const until = Math.max(from + 1, Math.floor(untilMs / 1_000));
    let [total, peak] = [0, 0];
    for (let second = from; second < until; second++) {
      const count = this.#seconds.get(kind)?.[second] ?? 0;
      total += count;
      peak = Math.max(peak, count);
    }
    return { perSecond: total / (until - from), peak };
  }
}
