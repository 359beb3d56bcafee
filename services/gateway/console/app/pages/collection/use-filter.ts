import { useEffect, useState } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { numberText } from '../../components/number-text.ts';
import { failureOf } from '../../data/failure.ts';
import { ask } from '../../data/service.ts';

/** A filter as its writer sees it. */
export interface WrittenFilter {
  text: string;
  setText(text: string): void;
  /** Undefined if there is none, or a wrong one. */
  filter: Api.Filter | undefined;
  /** What is wrong with it, from the parser of JSON or from the service. */
  fault: string | null;
  /** How many records it matches, and what else the service says of it. */
  note: string;
}

/** Time in ms without a key after which the service is asked. */
const PAUSE_MS = 350;

function parsed(text: string): { filter?: Api.Filter; fault: string | null } {
  if (text.trim() === '') return { fault: null };
  try {
    const filter: unknown = JSON.parse(text);
    const isObject = typeof filter === 'object' && filter !== null && !Array.isArray(filter);
    return isObject
      ? { filter: filter as Api.Filter, fault: null }
      : { fault: 'A filter is an object: {"field": value}.' };
  } catch (error) {
    return { fault: `Not JSON yet: ${(error as Error).message}` };
  }
}

/**
 * Keeps the text of a filter and checks it as it is written. The service itself judges it: it
 * counts the records that match. `first`: the text to begin with.
 */
export function useFilter(collection: string, namespace: string, first = ''): WrittenFilter {
  const [text, setText] = useState(first);
  const [judged, setJudged] = useState({ text: '', fault: null as string | null, note: '' });
  const { filter, fault } = parsed(text);
  useEffect(() => {
    if (filter === undefined) return;
    const leaving = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const body = { filter, ...(namespace !== '' && { namespace }) };
        const { count, warnings = [] } = await ask(
          'countRecords',
          { path: { name: collection }, body },
          leaving.signal,
        );
        const verb = count === 1 ? 'matches' : 'match';
        setJudged({
          text,
          fault: null,
          note: [`${numberText.count(count, 'record')} ${verb}.`, ...warnings].join(' '),
        });
      } catch (error) {
        const failure = failureOf(error);
        if (failure !== null) setJudged({ text, fault: failure.text, note: '' });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [collection, namespace, text]);
  const isJudged = judged.text === text && filter !== undefined;
  const serviceFault = isJudged ? judged.fault : null;
  return {
    text,
    setText,
    filter: serviceFault === null ? filter : undefined,
    fault: fault ?? serviceFault,
    note: isJudged ? judged.note : '',
  };
}
