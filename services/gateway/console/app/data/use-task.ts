import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from './failure.ts';

/** A long run: `progress` is what it reported last, null before the first report. */
type TaskState<P, T> =
  | { state: 'running'; progress: P | null }
  | { state: 'ready'; value: T }
  | { state: 'failed'; failure: Failure }
  | { state: 'cancelled' };

export interface Task<P, T> {
  now: TaskState<P, T>;
  /** Ends a run, which stays ended until `again`. */
  cancel(): void;
  again(): void;
}

/**
 * Runs `perform` when the component appears and whenever one of `keys` changes. The signal aborts
 * when they change again, when the reader cancels, and when the component leaves.
 */
export function useTask<P, T>(
  perform: (signal: AbortSignal, report: (progress: P) => void) => Promise<T>,
  keys: readonly unknown[],
): Task<P, T> {
  const [now, setNow] = useState<TaskState<P, T>>({ state: 'running', progress: null });
  const [round, setRound] = useState(0);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    const own = new AbortController();
    running.current = own;
    const show = (next: TaskState<P, T>) => !own.signal.aborted && setNow(next);
    setNow({ state: 'running', progress: null });
    perform(own.signal, (progress) => show({ state: 'running', progress })).then(
      (value) => show({ state: 'ready', value }),
      (error: unknown) => {
        const failure = failureOf(error);
        if (failure !== null) show({ state: 'failed', failure });
      },
    );
    return () => own.abort();
  }, [...keys, round]);
  const cancel = () => {
    running.current?.abort();
    setNow({ state: 'cancelled' });
  };
  return { now, cancel, again: () => setRound((count) => count + 1) };
}
