import { numberText } from '../../../components/number-text.ts';
import { html } from '../../../html.ts';
import { ValueText } from '../value-text.ts';
import type { Colouring } from './colouring.ts';
import { MARKERS, markerPath, REST_MARKER } from './marker.ts';
import { DARK, LIGHT, rampColour } from './palette.ts';

const RAMP_BARS = 48;
const NUMBER = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 });

/** What the colours and shapes of a map mean. */
export function MapLegend({ colouring }: { colouring: Colouring }) {
  if (colouring.kind === 'plain') return null;
  if (colouring.kind === 'numbers')
    return html`<div class="map-ramp">
      ${[LIGHT, DARK].map(
        (
          { ramp },
          at,
        ) => html`<svg class=${at === 0 ? 'only-light' : 'only-dark'} viewBox=${`0 0 ${RAMP_BARS} 4`} preserveAspectRatio="none" aria-hidden="true">
          ${Array.from(
            { length: RAMP_BARS },
            (_, bar) => html`<rect x=${bar} width="1.1" height="4" fill=${rampColour(ramp, bar / (RAMP_BARS - 1))} />`,
          )}
        </svg>`,
      )}
      <p class="map-ramp-ends"><span>${NUMBER.format(colouring.least)}</span><span>${NUMBER.format(colouring.most)}</span></p>
      ${colouring.missing > 0 && html`<p class="hint">${numberText.count(colouring.missing, 'record')} without a number: a grey ring.</p>`}
    </div>`;
  return html`<ul class="map-legend" aria-label="Groups">
    ${colouring.groups.map(
      ({ value, kind, count }, at) => html`<li>
        <${GroupKey} at=${kind === 'value' ? at : null} isHollow=${kind === 'missing'} />
        <span class="map-legend-name">
          ${
            value === null
              ? html`<span class="muted">${kind === 'other' ? 'Other values' : 'No value'}</span>`
              : html`<${ValueText} value=${value.is} />`
          }
        </span>
        <span class="muted">${numberText.whole(count)}</span>
      </li>`,
    )}
  </ul>`;
}

/** The colour and shape of a group; `at` null: of the rest. Each theme has a picture of its own. */
function GroupKey({ at, isHollow }: { at: number | null; isHollow: boolean }) {
  const path = markerPath(at === null ? REST_MARKER : MARKERS[at]!, 5);
  return [LIGHT, DARK].map(({ groups, rest }, theme) => {
    const colour = at === null ? rest : groups[at]!;
    return html`<svg class=${`map-key ${theme === 0 ? 'only-light' : 'only-dark'}`} viewBox="-8 -8 16 16" aria-hidden="true">
      <path d=${path} fill=${isHollow ? 'none' : colour} stroke=${isHollow ? colour : 'none'} />
    </svg>`;
  });
}
