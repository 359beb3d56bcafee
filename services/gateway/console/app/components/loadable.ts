import type { Loaded } from '../data/use-data.ts';
import { type Child, html } from '../html.ts';
import { ErrorState } from './error-state.ts';
import { Waiting } from './waiting.ts';

interface LoadableProps<T> {
  from: Loaded<T>;
  /** What loads, for the spinner's text. */
  what: string;
  /** Whether it is the whole page, with its title. */
  isPage?: boolean;
  show(value: T): Child;
}

/** Shows data in each of its states. */
export function Loadable<T>({ from: { data, reload }, what, isPage, show }: LoadableProps<T>) {
  if (data.state === 'loading') return html`<${Waiting} what=${what} />`;
  if (data.state === 'failed')
    return html`<${ErrorState} failure=${data.failure} onRetry=${reload} isPage=${isPage} />`;
  return html`<div aria-busy=${data.isStale ? 'true' : undefined}>${show(data.value)}</div>`;
}
