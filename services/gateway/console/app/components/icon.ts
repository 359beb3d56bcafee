import { html } from '../html.ts';

/** Paths on a grid of 16. */
const PATHS = {
  menu: 'M2 4h12M2 8h12M2 12h12',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  warning: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.2',
  clock: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 4.8V8l2.2 1.6',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  arrow: 'M3 8h10M9 4l4 4-4 4',
  out: 'M9 3h4v4M13 3 7.5 8.5M7 4H3v9h9V9',
  layers: 'M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3',
  key: 'M10.5 9.5a3.5 3.5 0 1 0-3.2-2.1L2 12.7V14h2.2v-1.6h1.6v-1.6h1.6l1-1.1M11.3 5.2v.1',
  chart: 'M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6',
  nodes: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.1M5 11v.1',
  code: 'M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5M9 3 7 13',
  empty: 'M2.5 9.5 4.5 3h7l2 6.5v3.5h-11zM2.5 9.5h3.2l.8 1.6h3l.8-1.6h3.2',
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside a text that says the same; hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}
