import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from './failure.ts';

export interface Action<A extends unknown[]> {
  isBusy: boolean;
  /** Why the last run failed; null while one runs and after one that succeeded. */
  failure: Failure | null;
  run(...args: A): void;
  /** Forgets the failure and calls off a run. */
  reset(): void;
}

/** Runs something that the reader asked for, one at a time; leaving the page calls it off. */
export function useAction<A extends unknown[]>(perform: (signal: AbortSignal, ...args: A) => Promise<void>): Action<A> {
  const [state, setState] = useState<{ isBusy: boolean; failure: Failure | null }>({ isBusy: false, failure: null });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const run = (...args: A): void => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState({ isBusy: true, failure: null });
    perform(own.signal, ...args).then(
      () => {
        if (!own.signal.aborted) setState({ isBusy: false, failure: null });
      },
      (error: unknown) => {
        if (!own.signal.aborted) setState({ isBusy: false, failure: failureOf(error) });
      },
    );
  };
  const reset = (): void => {
    running.current?.abort();
    setState({ isBusy: false, failure: null });
  };
  return { ...state, run, reset };
}
