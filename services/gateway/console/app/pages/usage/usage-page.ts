import type * as Api from '../../../../../../client/api/generated.ts';
import { Loadable } from '../../components/loadable.ts';
import { Measures, MONTHLY_MEASURES, STORED_MEASURES } from '../../components/measures.ts';
import { PageHead } from '../../components/page-head.ts';
import { Time } from '../../components/time.ts';
import { ask } from '../../data/service.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';
import { UsageByDay } from './usage-by-day.ts';

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
      <${Measures} usage=${usage} measures=${MONTHLY_MEASURES} />
    </section>
    <section class="card">
      <h2>Now</h2>
      <${Measures} usage=${usage} measures=${STORED_MEASURES} />
    </section>
    <${UsageByDay} usage=${usage} />`;
}
