import { type Child, type Children, html } from '../html.ts';
import { VisibleText } from './visible-text.ts';

interface PageHeadProps {
  title: string;
  /** Links to the places above, from the top. */
  above?: readonly { label: string; href: string }[];
  /** Under the title. */
  about?: Child;
  /** Buttons. */
  children?: Children;
}

/** The title of a page, where it is, and what can be done with it. */
export function PageHead({ title, above = [], about, children }: PageHeadProps) {
  return html`<header class="page-head">
    <div>
      ${
        above.length > 0 &&
        html`<nav class="crumbs" aria-label="Above">
          ${above.map(({ label, href }) => html`<a href=${href}>${label}</a>`)}
        </nav>`
      }
      <h1><${VisibleText} value=${title} max=${80} /></h1>
      ${about !== undefined && html`<p class="about">${about}</p>`}
    </div>
    <div class="page-actions">${children}</div>
  </header>`;
}
