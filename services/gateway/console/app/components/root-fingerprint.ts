import { html } from '../html.ts';
import { CopyButton } from './copy-button.ts';

interface RootFingerprintProps {
  /** 64 hex digits. */
  root: string;
  /** All digits in four lines, or only the first and the last. */
  isWhole?: boolean;
  what?: string;
}

const CELLS = 6;

/**
 * A root that people can compare: a picture that follows from the digits, and the digits in groups
 * of four.
 */
export function RootFingerprint({ root, isWhole = false, what = 'the root' }: RootFingerprintProps) {
  const groups = root.match(/.{1,4}/g) ?? [];
  if (!isWhole) {
    const short = [...groups.slice(0, 2), '…', ...groups.slice(-2)];
    return html`<span class="fingerprint fingerprint-short" title=${root}>
      <${Picture} root=${root} /><code>${short.join(' ')}</code><${CopyButton} text=${root} what=${what} />
    </span>`;
  }
  const lines = [0, 4, 8, 12].map((at) => groups.slice(at, at + 4));
  return html`<div class="fingerprint fingerprint-whole">
    <${Picture} root=${root} />
    <code>${lines.map((line) => html`<span class="fingerprint-line">${line.map((group) => html`<span>${group}</span>`)}</span>`)}</code>
    <${CopyButton} text=${root} what=${what} />
  </div>`;
}

/**
 * A symmetrical pattern of the first 72 bits: 18 cells, mirrored, in four strengths. The cells of a
 * strength are one path, since a table has a hundred pictures.
 */
function Picture({ root }: { root: string }) {
  const paths = ['', '', '', ''];
  for (let row = 0; row < CELLS; row++)
    for (let column = 0; column < CELLS / 2; column++) {
      const strength = Number.parseInt(root[row * 3 + column] ?? '0', 16) >> 2;
      for (const x of [column, CELLS - 1 - column]) paths[strength] += `M${x} ${row}h1v1h-1z`;
    }
  return html`<svg class="picture" shape-rendering="crispEdges" viewBox=${`0 0 ${CELLS} ${CELLS}`} aria-hidden="true">
    ${[1, 2, 3].map((strength) => html`<path class=${`cell-${strength}`} d=${paths[strength]} />`)}
  </svg>`;
}
