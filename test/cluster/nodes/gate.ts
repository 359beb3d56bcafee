import type { AnchorRow, AnchorStore } from '../../../store/anchors.ts';
import type { Store } from '../../../store/port.ts';

/**
 * A point in an outbox's calls: before a call is sent, or after it took effect but before its
 * response arrives.
 */
export type Instant = `${'before' | 'after'} ${'launch' | 'send' | 'settle'}`;
export const INSTANTS: Instant[] = [
  'before launch',
  'after launch',
  'before send',
  'after send',
  'before settle',
  'after settle',
];

/** Holds back every call of one instance, like a paused process or a cut network. */
export class InstanceGate {
  /** Called at each instant; the gate shuts when it returns true. */
  trap: ((instant: Instant) => boolean) | null = null;
  #shut: Promise<void> | null = null;
  #open: () => void = () => undefined;

  get isShut(): boolean {
    return this.#shut !== null;
  }

  shut(): void {
    this.#shut ??= new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.trap = null;
    this.#shut = null;
    this.#open();
  }

  async pass(instant: Instant | null = null): Promise<void> {
    if (instant && this.trap?.(instant)) this.shut();
    while (this.#shut) await this.#shut;
  }

  async call<T>(instant: 'launch' | 'send' | 'settle' | null, work: () => Promise<T>): Promise<T> {
    await this.pass(instant && `before ${instant}`);
    const result = await work();
    await this.pass(instant && `after ${instant}`);
    return result;
  }

  async *pages<T>(pages: AsyncIterable<T>): AsyncIterable<T> {
    await this.pass();
    for await (const page of pages) {
      yield page;
      await this.pass();
    }
  }
}

/** A store whose calls pass a gate. */
export function gated(store: Store, gate: InstanceGate): Store {
  return {
    ...store,
    anchors: gatedAnchors(store.anchors, gate),
    catalog: behind(store.catalog, gate),
    log: behind(store.log, gate),
  };
}

function gatedAnchors(anchors: AnchorStore, gate: InstanceGate): AnchorStore {
  /** Signatures in flight, as this instance last saw them. */
  const seen = new Map<string, string | null>();
  const see = (row: AnchorRow) => seen.set(row.collectionId, row.inFlight?.signature ?? null);
  const through = behind(anchors, gate);
  const own: Pick<AnchorStore, 'get' | 'put'> = {
    async get(collectionId) {
      const row = await gate.call(null, () => anchors.get(collectionId));
      if (row) see(row);
      return row;
    },
    put(row, history) {
      const next = row.inFlight?.signature ?? null;
      const instant = seen.get(row.collectionId) === next ? null : next === null ? 'settle' : 'launch';
      return gate.call(instant, async () => {
        const done = await anchors.put(row, history);
        if (done) see(row);
        return done;
      });
    },
  };
  return new Proxy(anchors, { get: (_, name) => Reflect.get(Object.hasOwn(own, name) ? own : through, name) });
}

/** Puts every method of a part of the store behind the gate. */
function behind<T extends object>(part: T, gate: InstanceGate): T {
  return new Proxy(part, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        if (name === 'all' || name === 'open' || name === 'allCollections')
          return gate.pages(Reflect.apply(method, target, args) as AsyncIterable<unknown>);
        return gate.call(null, () => Reflect.apply(method, target, args) as Promise<unknown>);
      };
    },
  });
}
