import type * as Api from '../../../../../../../client/api/generated.ts';
import { Loadable } from '../../../components/loadable.ts';
import { numberText } from '../../../components/number-text.ts';
import { Select } from '../../../components/select.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';

interface PlanSelectProps {
  value: string;
  onChange(plan: string): void;
}

const limitText = (limit: number | null, noun: string): string =>
  limit === null ? `${noun} without limit` : numberText.count(limit, noun.replace(/s$/, ''));

/** A field for one of the service's plans. */
export function PlanSelect({ value, onChange }: PlanSelectProps) {
  const plans = useData((signal) => askOperator('listPlans', {}, signal), []);
  const show = ({ plans: known }: Api.ListPlansResult) => {
    const chosen = known.find(({ name }) => name === value);
    const options = Object.fromEntries(known.map(({ name }) => [name, name]));
    const hint =
      chosen && `${limitText(chosen.vectors, 'vectors')}, ${chosen.anchoring ? 'anchored' : 'without anchoring'}.`;
    return html`<${Select} label="Plan" value=${value} options=${options} hint=${hint} onChange=${onChange} />`;
  };
  return html`<${Loadable} from=${plans} what="the plans" show=${show} />`;
}
