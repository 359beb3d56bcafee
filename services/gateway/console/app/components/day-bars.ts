import { html } from '../html.ts';
import { dayText } from './day-text.ts';
import { numberText } from './number-text.ts';

interface DayBarsProps {
  /** In order of time; `day` is a UTC date such as `2026-11-26`. */
  days: readonly { day: string; value: number }[];
  /** What is counted. */
  label: string;
  /** A day's even share of a limit, drawn as a line; null for none. */
  pace: number | null;
}

const HEIGHT = 100;
/** Room of a day, of which its bar takes most. */
const STEP = 10;

/** A number by day, as bars. A table beside it has the numbers for screen readers. */
export function DayBars({ days, label, pace }: DayBarsProps) {
  const most = Math.max(...days.map(({ value }) => value));
  // A line far above all bars would flatten them; the text says the number, too.
  const hasLine = pace !== null && pace > 0 && pace <= most * 3;
  const top = Math.max(most, hasLine ? pace : 0, 1);
  const total = days.reduce((sum, { value }) => sum + value, 0);
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max((value / top) * HEIGHT, 1));
  return html`<figure class="day-bars">
    <figcaption>
      <span>${label}</span>
      <span class="measure-value"><strong>${numberText.whole(total)}</strong> in ${numberText.count(days.length, 'day')}, at most ${numberText.whole(most)} in one</span>
    </figcaption>
    <svg viewBox=${`0 0 ${days.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <line class="day-ground" x1="0" x2=${days.length * STEP} y1=${HEIGHT} y2=${HEIGHT} />
      ${days.map(
        ({ day, value }, at) => html`<g>
          <rect class="day-room" x=${at * STEP} width=${STEP} height=${HEIGHT}><title>${`${dayText(day)}: ${numberText.whole(value)}`}</title></rect>
          <rect class="day-bar" x=${at * STEP + 1} width=${STEP - 2} y=${HEIGHT - heightOf(value)} height=${heightOf(value)} />
        </g>`,
      )}
      ${hasLine && html`<line class="day-pace" x1="0" x2=${days.length * STEP} y1=${HEIGHT - heightOf(pace)} y2=${HEIGHT - heightOf(pace)} />`}
    </svg>
    <p class="day-ends hint"><span>${dayText(days[0]?.day ?? '')}</span><span>${dayText(days.at(-1)?.day ?? '')}</span></p>
    ${
      pace !== null &&
      html`<p class="hint">
        ${hasLine && html`<span class="pace-key" aria-hidden="true"></span>`}
        Spread evenly, this month’s limit allows ${numberText.whole(Math.floor(pace))} a day.
      </p>`
    }
  </figure>`;
}
