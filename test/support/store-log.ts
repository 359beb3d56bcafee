import type { ShardLog } from '../../store/log.ts';
import type { Store } from '../../store/port.ts';

/** A store whose log is overridden by `changes`; everything else is real. */
export function withLog(changes: (real: ShardLog) => Partial<ShardLog>): (store: Store) => Store {
  return (store) => {
    const real = store.log;
    const log: ShardLog = {
      append: (entry) => real.append(entry),
      read: (...given) => real.read(...given),
      head: (key) => real.head(key),
      heads: (id) => real.heads(id),
      audit: (...given) => real.audit(...given),
      trim: (...given) => real.trim(...given),
      firstSeq: (key) => real.firstSeq(key),
      ...changes(real),
    };
    return new Proxy(store, { get: (target, name) => (name === 'log' ? log : Reflect.get(target, name)) });
  };
}

/** Delays appends to a store's log while the gate is shut. */
export class AppendGate {
  /** Number of appends that reached the gate, including those it let through. */
  reached = 0;
  #opened: Promise<void> = Promise.resolve();
  #open: () => void = () => undefined;

  readonly wrap = withLog((real) => ({
    append: async (entry) => {
      this.reached++;
      await this.#opened;
      return real.append(entry);
    },
  }));

  shut(): void {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}
