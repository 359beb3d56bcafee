import { useCallback, useState } from 'preact/hooks';
import { type Action, useAction } from './use-action.ts';
import { type Loaded, useData } from './use-data.ts';

interface Page {
  nextCursor?: string | undefined;
}

/** A long list, of which pages are loaded when the reader asks. */
export interface Pages<P extends Page> {
  first: Loaded<P>;
  /** Pages after the first. */
  later: readonly P[];
  more: Action<[cursor: string]>;
  /** Loads the first page again, and forgets the others. */
  reload(): void;
}

/** Loads the first page when the component appears and whenever one of `keys` changes. */
export function usePages<P extends Page>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<P>,
  keys: readonly unknown[],
): Pages<P> {
  const [later, setLater] = useState<readonly P[]>([]);
  const first = useData((signal) => {
    setLater([]);
    return load(undefined, signal);
  }, keys);
  const more = useAction(async (signal, cursor: string) => {
    const page = await load(cursor, signal);
    setLater((pages) => [...pages, page]);
  });
  const reload = useCallback(() => {
    more.reset();
    first.reload();
  }, [first.reload]);
  return { first, later, more, reload };
}
