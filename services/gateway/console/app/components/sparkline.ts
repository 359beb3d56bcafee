import { html } from '../html.ts';

interface SparklineProps {
  values: readonly number[];
  label: string;
}

const WIDTH = 96;
const HEIGHT = 24;

/** The course of a number, without axes. */
export function Sparkline({ values, label }: SparklineProps) {
  if (values.length < 2) return null;
  const max = Math.max(...values, 1);
  const points = values.map((value, at) => {
    const x = (at / (values.length - 1)) * (WIDTH - 4) + 2;
    return `${x.toFixed(1)},${(HEIGHT - 3 - (value / max) * (HEIGHT - 6)).toFixed(1)}`;
  });
  return html`<svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${label}>
    <polyline points=${points.join(' ')} />
  </svg>`;
}
