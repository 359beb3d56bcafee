import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Checkbox } from '../../../components/checkbox.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { TextInput } from '../../../components/text-input.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';

type LimitName = Exclude<keyof Api.PutPlan, 'anchoring'>;

const LIMITS: readonly (readonly [name: LimitName, label: string])[] = [
  ['vectors', 'Stored vectors'],
  ['collections', 'Collections'],
  ['writes', 'Writes a month'],
  ['queries', 'Queries a month'],
  ['keys', 'API keys'],
  ['shards', 'Shards of a collection'],
];
const KEYS_DEFAULT = '50';

const isLimit = (text: string): boolean => text === '' || /^\d{1,15}$/.test(text);

function faultOf(name: LimitName, text: string): string | null {
  if (name === 'keys' && text === '') return 'Every plan limits the keys.';
  return isLimit(text) ? null : 'A whole number, or nothing for no limit.';
}

interface PlanDialogProps {
  /** Null for a new plan. */
  plan: Api.Plan | null;
  onClose(): void;
  onDone(text: string): void;
}

/** Makes a plan, or changes the limits of one. */
export function PlanDialog({ plan, onClose, onDone }: PlanDialogProps) {
  const [name, setName] = useState(plan?.name ?? '');
  const [texts, setTexts] = useState(() => textsOf(plan));
  const [isAnchored, setAnchored] = useState(plan?.anchoring ?? true);
  const isFine = name !== '' && LIMITS.every(([limit]) => faultOf(limit, texts[limit]) === null);
  const put = useAction(async (signal) => {
    const limits = Object.fromEntries(
      LIMITS.map(([limit]) => [limit, texts[limit] === '' ? null : Number(texts[limit])]),
    ) as Omit<Api.PutPlan, 'anchoring'>;
    await askOperator('putPlan', { path: { plan: name }, body: { ...limits, anchoring: isAnchored } }, signal);
    onDone(`Stored the plan ${name}.`);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (isFine) put.run();
  };
  return html`<${Dialog} title=${plan === null ? 'New plan' : `Change ${plan.name}`} onClose=${onClose}>
    <form onSubmit=${submit} novalidate>
      ${
        plan === null
          ? html`<${TextInput} label="Name" value=${name} onInput=${setName} placeholder="team" isCode
              hint="a-z, 0-9, _ and -, from a letter or digit on." />`
          : html`<p>Accounts of this plan that use more keep what they have, and get no more. Nothing in a field is no limit.</p>`
      }
      <div class="field-row">
        ${LIMITS.map(
          ([limit, label]) => html`<${TextInput} key=${limit} label=${label} value=${texts[limit]}
            placeholder=${limit === 'keys' ? '' : 'no limit'} error=${faultOf(limit, texts[limit])}
            onInput=${(text: string) => setTexts((before) => ({ ...before, [limit]: text.trim() }))} />`,
        )}
      </div>
      <${Checkbox} label="Write roots to the ledger" checked=${isAnchored} onChange=${setAnchored} />
      <${DialogFoot} act="Store the plan" action=${put} disabled=${!isFine} onClose=${onClose} />
    </form>
  <//>`;
}

function textsOf(plan: Api.Plan | null): Record<LimitName, string> {
  const texts = LIMITS.map(([limit]) => {
    if (plan === null) return [limit, limit === 'keys' ? KEYS_DEFAULT : ''];
    return [limit, plan[limit] === null ? '' : `${plan[limit]}`];
  });
  return Object.fromEntries(texts) as Record<LimitName, string>;
}
