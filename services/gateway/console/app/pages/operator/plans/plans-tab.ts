import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Badge } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { Loadable } from '../../../components/loadable.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation } from '../../../components/typed-confirmation.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { PlanDialog } from './plan-dialog.ts';

const SOURCES: Readonly<Record<Api.Plan['source'], readonly [text: string, meaning: string]>> = {
  stored: ['Stored', 'The operator stored these limits; they take precedence in every process.'],
  environment: ['PROVEC_PLANS', 'The environment of the process that answered sets these limits.'],
  'built-in': ['Built in', 'The limits that Provec comes with.'],
};

/** What the operator does with a plan; `plan` is null for a new one. */
type Doing = { what: 'put'; plan: Api.Plan | null } | { what: 'delete'; plan: Api.Plan };

/** The plans with their limits. */
export default function PlansTab() {
  const [doing, setDoing] = useState<Doing | null>(null);
  const plans = useData((signal) => askOperator('listPlans', {}, signal), []);
  const close = () => setDoing(null);
  const done = (text: string) => {
    announce(text);
    close();
    plans.reload();
  };
  const show = (value: Api.ListPlansResult) => html`<${PlanTable} plans=${value.plans} onDo=${setDoing} />`;
  return html`<div class="tab-head">
      <p class="muted">What an account may have, and write and query in a month; “–” is no limit. Changes take effect within half a second.</p>
      <${Button} kind="primary" onClick=${() => setDoing({ what: 'put', plan: null })}>New plan<//>
    </div>
    <${Loadable} from=${plans} what="the plans" show=${show} />
    ${doing?.what === 'put' && html`<${PlanDialog} plan=${doing.plan} onClose=${close} onDone=${done} />`}
    ${doing?.what === 'delete' && html`<${DeletePlan} plan=${doing.plan} onClose=${close} onDone=${done} />`}`;
}

const limit = (name: 'vectors' | 'writes' | 'queries' | 'collections' | 'keys' | 'shards') => (plan: Api.Plan) => {
  const value = plan[name];
  return value === null ? html`<span class="muted">–</span>` : numberText.whole(value);
};

function PlanTable({ plans, onDo }: { plans: readonly Api.Plan[]; onDo(doing: Doing): void }) {
  const columns: readonly Column<Api.Plan>[] = [
    {
      title: 'Plan',
      cell: ({ name, source }) => {
        const [text, meaning] = SOURCES[source];
        return html`<strong>${name}</strong> <span title=${meaning} class="extra"><${Badge} tone="neutral">${text}<//></span>`;
      },
    },
    { title: 'Vectors', isNumber: true, cell: limit('vectors') },
    { title: 'Writes', isNumber: true, isExtra: true, cell: limit('writes') },
    { title: 'Queries', isNumber: true, isExtra: true, cell: limit('queries') },
    { title: 'Collections', isNumber: true, isExtra: true, cell: limit('collections') },
    { title: 'Keys', isNumber: true, isExtra: true, cell: limit('keys') },
    { title: 'Shards', isNumber: true, isExtra: true, cell: limit('shards') },
    { title: 'Anchored', isExtra: true, cell: ({ anchoring }) => (anchoring ? 'yes' : 'no') },
    {
      title: 'Actions',
      isNumber: true,
      cell: (plan) => html`<span class="row-actions">
        <${Button} kind="quiet" label=${`Change ${plan.name}`} onClick=${() => onDo({ what: 'put', plan })}>Change…<//>
        ${
          plan.source === 'stored' &&
          html`<${Button} kind="quiet" label=${`Delete ${plan.name}`} onClick=${() => onDo({ what: 'delete', plan })}>Delete…<//>`
        }
      </span>`,
    },
  ];
  return html`<${Table} label="Plans" columns=${columns} rows=${plans} keyOf=${({ name }: Api.Plan) => name} />`;
}

interface DeletePlanProps {
  plan: Api.Plan;
  onClose(): void;
  onDone(text: string): void;
}

function DeletePlan({ plan: { name }, onClose, onDone }: DeletePlanProps) {
  const remove = async (signal: AbortSignal) => {
    await askOperator('deletePlan', { path: { plan: name } }, signal);
    onDone(`Deleted the stored plan ${name}.`);
  };
  return html`<${TypedConfirmation} title=${`Delete ${name}`} phrase=${name} act="Delete the plan" perform=${remove}
    onClose=${onClose}>
    <p>A built-in plan gets its own limits back. Any other plan goes away, which takes that no account has it.</p>
  <//>`;
}
