import { html } from '../html.ts';

interface TabsProps {
  label: string;
  /** Name of the current one. */
  current: string;
  tabs: readonly { name: string; label: string; href: string }[];
}

/** Links between the parts of a page; each part has an address. */
export function Tabs({ label, current, tabs }: TabsProps) {
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(
      ({ name, label: text, href }) =>
        html`<a href=${href} aria-current=${name === current ? 'page' : undefined}>${text}</a>`,
    )}
  </nav>`;
}
