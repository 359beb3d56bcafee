import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from './failure.ts';

/** A value that is read again and again. */
export interface Live<T> {
  /** The last one; null before the first. */
  value: T | null;
  /** When it was read, in ms since the epoch. */
  readMs: number;
  /** Why the last read failed; null if it did not. The value is an older one then. */
  failure: Failure | null;
  /** Reads now, unless a read is under way. */
  readNow(): void;
}

type Known<T> = Omit<Live<T>, 'readNow'>;

interface LiveOptions {
  /** Time in ms from the end of a read to the next. */
  everyMs: number;
  isPaused?: boolean;
}

/**
 * Reads a value every `everyMs`, one read at a time, while the page is visible and not paused. A
 * page that becomes visible reads at once.
 */
export function useLive<T>(
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs, isPaused = false }: LiveOptions,
): Live<T> {
  const [known, setKnown] = useState<Known<T>>({ value: null, readMs: 0, failure: null });
  const reading = useRef<() => void>(() => undefined);
  const current = useRef(load);
  const lastMs = useRef(0);
  current.current = load;
  useEffect(() => {
    if (isPaused) return;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isReading = false;
    const read = async () => {
      if (isReading || document.visibilityState === 'hidden') return;
      isReading = true;
      clearTimeout(timer);
      const next = await readOnce(current.current, leaving.signal);
      isReading = false;
      lastMs.current = Date.now();
      if (leaving.signal.aborted) return;
      setKnown((before) => ({ ...before, ...next }));
      timer = setTimeout(read, everyMs);
    };
    document.addEventListener('visibilitychange', read);
    reading.current = read;
    const dueMs = lastMs.current + everyMs - Date.now();
    if (dueMs > 0) timer = setTimeout(read, dueMs);
    else read();
    return () => {
      reading.current = () => undefined;
      document.removeEventListener('visibilitychange', read);
      clearTimeout(timer);
      leaving.abort();
    };
  }, [everyMs, isPaused]);
  return { ...known, readNow: () => reading.current() };
}

async function readOnce<T>(load: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<Partial<Known<T>>> {
  try {
    return { value: await load(signal), readMs: Date.now(), failure: null };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}
