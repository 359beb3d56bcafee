import { html } from '../html.ts';

const HEIGHT = 48;
/** More numbers than a screen has pixels are joined into this many. */
const BARS_MAX = 512;

/** The numbers of a vector as bars above and below zero. */
export function VectorStrip({ values }: { values: readonly number[] }) {
  const bars = joined(values);
  const max = Math.max(...bars.map(Math.abs), Number.MIN_VALUE);
  const middle = HEIGHT / 2;
  return html`<svg
    class="vector-strip"
    viewBox=${`0 0 ${bars.length} ${HEIGHT}`}
    preserveAspectRatio="none"
    role="img"
    aria-label=${`Vector of ${values.length} numbers`}
  >
    <line x1="0" x2=${bars.length} y1=${middle} y2=${middle} />
    ${bars.map((value, at) => {
      const height = Math.max((Math.abs(value) / max) * (middle - 1), 0.5);
      const y = value < 0 ? middle : middle - height;
      return html`<rect class=${value < 0 ? 'below' : 'above'} x=${at + 0.1} y=${y} width="0.8" height=${height} />`;
    })}
  </svg>`;
}

/** Returns the value farthest from zero of each part, so that no peak is lost. */
function joined(values: readonly number[]): number[] {
  const size = Math.ceil(values.length / BARS_MAX);
  if (size <= 1) return [...values];
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    values
      .slice(at * size, (at + 1) * size)
      .reduce((peak, value) => (Math.abs(value) > Math.abs(peak) ? value : peak), 0),
  );
}
