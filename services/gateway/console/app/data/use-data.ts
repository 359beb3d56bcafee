import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from './failure.ts';

/** What a page waits for. A reload keeps the earlier value until the new one is there. */
type Data<T> =
  | { state: 'loading' }
  | { state: 'ready'; value: T; isStale: boolean }
  | { state: 'failed'; failure: Failure };

export interface Loaded<T> {
  data: Data<T>;
  reload(): void;
}

/**
 * Loads a value when the component appears and whenever one of `keys` changes. `signal` aborts when
 * they change again or the component leaves.
 */
export function useData<T>(load: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [data, setData] = useState<Data<T>>({ state: 'loading' });
  const [round, setRound] = useState(0);
  const loaded = useRef<readonly unknown[] | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const isSame = loaded.current?.every((key, at) => Object.is(key, keys[at])) === true;
    loaded.current = keys;
    setData((before) => (isSame && before.state === 'ready' ? { ...before, isStale: true } : { state: 'loading' }));
    load(leaving.signal).then(
      (value) => {
        if (!leaving.signal.aborted) setData({ state: 'ready', value, isStale: false });
      },
      (error: unknown) => {
        const failure = failureOf(error);
        if (failure !== null && !leaving.signal.aborted) setData({ state: 'failed', failure });
      },
    );
    return () => leaving.abort();
  }, [...keys, round]);
  return { data, reload: useCallback(() => setRound((count) => count + 1), []) };
}
