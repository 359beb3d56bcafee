import type * as Api from '../../../../../../client/api/generated.ts';
import { Bar } from '../../components/bar.ts';
import { Loadable } from '../../components/loadable.ts';
import { numberText } from '../../components/number-text.ts';
import { PageHead } from '../../components/page-head.ts';
import { Time } from '../../components/time.ts';
import { ask } from '../../data/service.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';
import { UsageByDay } from './usage-by-day.ts';

type Measure = keyof Api.Usage['usage'];

const STORED: readonly (readonly [measure: Measure, label: string])[] = [
  ['vector_count', 'Stored vectors'],
  ['collection_count', 'Collections'],
  ['key_count', 'API keys'],
];
const MONTHLY: readonly (readonly [measure: Measure, label: string])[] = [
  ['write_count', 'Records written'],
  ['query_count', 'Queries'],
];

/** What the account uses of its plan. */
export default function UsagePage() {
  const usage = useData((signal) => ask('getUsage', {}, signal), []);
  return html`<${PageHead} title="Usage" about="What this account uses of its plan." />
    <${Loadable} from=${usage} what="usage" show=${(value: Api.Usage) => html`<${UsageView} usage=${value} />`} />`;
}

function UsageView({ usage }: { usage: Api.Usage }) {
  return html`<section class="card">
      <h2>This month</h2>
      <p class="hint">${usage.month} in UTC, on the plan <strong>${usage.plan}</strong>. The counts start again <${Time} at=${usage.resets_at} />.</p>
      <${Measures} usage=${usage} measures=${MONTHLY} />
    </section>
    <section class="card">
      <h2>Now</h2>
      <${Measures} usage=${usage} measures=${STORED} />
    </section>
    <${UsageByDay} usage=${usage} />`;
}

function Measures({ usage, measures }: { usage: Api.Usage; measures: typeof STORED }) {
  return html`<ul class="measures">
    ${measures.map(([measure, label]) => {
      const used = usage.usage[measure];
      const limit = usage.limits[measure];
      const share = limit === null || limit === 0 ? 0 : used / limit;
      return html`<li key=${measure}>
        <span>${label}</span>
        <span class="measure-value">
          <strong>${numberText.whole(used)}</strong> ${limit === null ? 'no limit' : `of ${numberText.whole(limit)}`}
        </span>
        ${limit !== null && html`<${Bar} share=${share} isFull=${share >= 0.9} />`}
      </li>`;
    })}
  </ul>`;
}
