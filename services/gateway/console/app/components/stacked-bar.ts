import { html } from '../html.ts';

interface StackedBarProps {
  /** Sizes of the parts, in the order of their colours. */
  values: readonly number[];
  /** Size of a full bar; at least the sum of the parts. */
  whole: number;
  isTall?: boolean;
}

const WIDTH = 1_000;

/** The parts of a whole as a bar, beside a text or a table that says them in numbers. */
export function StackedBar({ values, whole, isTall = false }: StackedBarProps) {
  let at = 0;
  const parts = values.map((value, index) => {
    const x = at;
    at += whole === 0 ? 0 : (value / whole) * WIDTH;
    return html`<rect class=${`part-${index + 1}`} x=${x} width=${at - x} height="10" />`;
  });
  return html`<svg
    class=${isTall ? 'stacked-bar stacked-tall' : 'stacked-bar'}
    viewBox=${`0 0 ${WIDTH} 10`}
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    <rect class="bar-track" width=${WIDTH} height="10" />${parts}
  </svg>`;
}

/** The colour of a part, beside its name. */
export function PartKey({ at }: { at: number }) {
  return html`<svg class="part-key" viewBox="0 0 10 10" aria-hidden="true"><rect class=${`part-${at + 1}`} width="10" height="10" rx="2" /></svg>`;
}
