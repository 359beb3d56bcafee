import { type Store, StoreError } from '../../store/port.ts';

/** A store that can be cut off, as if its process were killed: later calls never reach it. */
export class SeverableStore {
  readonly store: Store;
  #isSevered = false;

  constructor(store: Store) {
    const parts = Object.entries(store).map(([name, part]) => [
      name,
      typeof part === 'object' ? this.#severable(part) : part,
    ]);
    this.store = Object.fromEntries(parts) as Store;
  }

  sever(): void {
    this.#isSevered = true;
  }

  #severable<Part extends object>(part: Part): Part {
    return new Proxy(part, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) =>
          this.#isSevered
            ? Promise.reject(new StoreError('unavailable', 'The process was killed.'))
            : value.apply(target, args);
      },
    });
  }
}
