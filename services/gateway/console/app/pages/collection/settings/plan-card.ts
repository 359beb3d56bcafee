import type * as Api from '../../../../../../../client/api/generated.ts';
import { Loadable } from '../../../components/loadable.ts';
import { Measures, MONTHLY_MEASURES, STORED_MEASURES } from '../../../components/measures.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { hrefOf } from '../../../shell/route.ts';

const SHOWN = [...STORED_MEASURES.slice(0, 1), ...MONTHLY_MEASURES];

/** The limits of the plan, which all collections of the account share. */
export function PlanCard({ version }: { version: number }) {
  const usage = useData((signal) => ask('getUsage', {}, signal), [version]);
  const show = (value: Api.Usage) => html`<div class="stack">
    <p class="muted">All collections of the account share the limits of the plan <strong>${value.plan}</strong>.</p>
    <${Measures} usage=${value} measures=${SHOWN} />
    <p><a href=${hrefOf(['usage'])}>All usage</a></p>
  </div>`;
  return html`<section class="card">
    <h2>Limits</h2>
    <${Loadable} from=${usage} what="the limits" show=${show} />
  </section>`;
}
