import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { DayBars } from '../../components/day-bars.ts';
import { dayText } from '../../components/day-text.ts';
import { Loadable } from '../../components/loadable.ts';
import { numberText } from '../../components/number-text.ts';
import { Select } from '../../components/select.ts';
import { type Column, Table } from '../../components/table.ts';
import { ask } from '../../data/service.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';

type Count = 'write_count' | 'query_count';

const SPANS = { 7: 'Last 7 days', 30: 'Last 30 days', 90: 'Last 90 days', 400: 'Last 400 days' };
const SERIES: readonly (readonly [count: Count, label: string])[] = [
  ['write_count', 'Records written'],
  ['query_count', 'Queries'],
];

const COLUMNS: readonly Column<Api.UsageDay>[] = [
  { title: 'Day', cell: ({ day }) => html`<span class="time">${dayText(day)}</span>` },
  ...SERIES.map(([count, title]) => ({
    title,
    isNumber: true,
    cell: (day: Api.UsageDay) => numberText.whole(day[count]),
  })),
];

/** What was written and asked on each of the last days. */
export function UsageByDay({ usage }: { usage: Api.Usage }) {
  const [span, setSpan] = useState('30');
  const daily = useData((signal) => ask('getDailyUsage', { query: { days: Number(span) } }, signal), [span]);
  return html`<section class="card">
    <div class="card-head">
      <div>
        <h2>By day</h2>
        <p class="hint">Days are those of UTC.</p>
      </div>
      <${Select} label="Days" value=${span} options=${SPANS} onChange=${setSpan} />
    </div>
    <${Loadable} from=${daily} what="the days" show=${({ days }: Api.GetDailyUsageResult) => html`<${Days} days=${days} usage=${usage} />`} />
  </section>`;
}

function Days({ days, usage: { month, limits } }: { days: readonly Api.UsageDay[]; usage: Api.Usage }) {
  if (days.every((day) => day.write_count === 0 && day.query_count === 0))
    return html`<p class="muted">Nothing was written or queried in these days.</p>`;
  return html`<div class="day-charts">
    ${SERIES.map(([count, label]) => {
      const limit = limits[count];
      const pace = limit === null ? null : limit / daysIn(month);
      return html`<${DayBars} key=${count} label=${label} pace=${pace}
        days=${days.map((day) => ({ day: day.day, value: day[count] }))} />`;
    })}
    <details class="numbers">
      <summary>The days in numbers</summary>
      <${Table} label="Usage by day" columns=${COLUMNS} rows=${[...days].reverse()}
        keyOf=${({ day }: Api.UsageDay) => day} />
    </details>
  </div>`;
}

/** Returns the number of days of a month such as `2026-11`. */
function daysIn(month: string): number {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).getUTCDate();
}
