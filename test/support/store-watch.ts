import type { Store } from '../../store/port.ts';

const TURNS = 20;
let underWay = 0;

/** Wraps a store to count its running calls, for `quiet`. */
export function withCallCount(store: Store): Store {
  const parts = Object.entries(store).map(([name, part]) => [name, typeof part === 'object' ? counted(part) : part]);
  return Object.fromEntries(parts) as Store;
}

/**
 * Resolves when no watched store has had a running call for several turns: all work that needs
 * neither the clock nor the caller is done.
 */
export async function untilStoreIdle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (underWay > 0) turn = -1;
  }
}

function counted<Part extends object>(part: Part): Part {
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args);
        if (result instanceof Promise) {
          underWay++;
          const ended = (): void => void underWay--;
          result.then(ended, ended);
        }
        return result;
      };
    },
  });
}
