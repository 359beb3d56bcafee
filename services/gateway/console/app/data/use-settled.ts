import { useEffect, useState } from 'preact/hooks';

/** Time in ms without a change after which a page follows what is written. */
const PAUSE_MS = 250;

/** Returns a value once it has not changed for a moment. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
