import type { Pages } from '../data/use-pages.ts';
import { type Child, html } from '../html.ts';
import { Button } from './button.ts';
import { Loadable } from './loadable.ts';
import { FailureNotice } from './notice.ts';

interface PagedProps<P extends { nextCursor?: string | undefined }> {
  from: Pages<P>;
  /** What loads, for the spinner's text. */
  what: string;
  show(pages: readonly P[]): Child;
}

/** Shows a long list in each of its states, with a button that loads its next page. */
export function Paged<P extends { nextCursor?: string | undefined }>({ from, what, show }: PagedProps<P>) {
  const { first, later, more, reload } = from;
  const showAll = (page: P) => {
    const pages = [page, ...later];
    const { nextCursor } = pages.at(-1)!;
    return html`${show(pages)}
      <${FailureNotice} failure=${more.failure} />
      ${
        nextCursor !== undefined &&
        html`<div class="more-row"><${Button} isBusy=${more.isBusy} onClick=${() => more.run(nextCursor)}>Show more<//></div>`
      }`;
  };
  return html`<${Loadable} from=${{ data: first.data, reload }} what=${what} show=${showAll} />`;
}
