import { useState } from 'preact/hooks';
import { Button } from '../../components/button.ts';
import { Select } from '../../components/select.ts';
import { TextInput } from '../../components/text-input.ts';
import { html } from '../../html.ts';
import { conditionOf, kindOf, OPERATORS, type Operator, takesValue, withCondition } from './filter-condition.ts';
import type { WrittenFilter } from './use-filter.ts';

interface FilterBuilderProps {
  written: WrittenFilter;
  /** Fields that are suggested. */
  fields: readonly string[];
}

/** Adds a condition to a filter without writing JSON. */
export function FilterBuilder({ written: { filter, text, setText }, fields }: FilterBuilderProps) {
  const [field, setField] = useState('');
  const [operator, setOperator] = useState<Operator>('$eq');
  const [value, setValue] = useState('');
  const isKnown = filter !== undefined || text.trim() === '';
  const canAdd = isKnown && field !== '' && !field.startsWith('$') && (!takesValue(operator) || value !== '');
  const add = () => {
    if (!canAdd) return;
    setText(JSON.stringify(withCondition(filter, field, conditionOf(operator, value))));
    setValue('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !(event.target instanceof HTMLButtonElement)) add();
  };
  const hint =
    operator === '$in'
      ? 'Values between commas.'
      : value === ''
        ? 'A text, a number, true, false or null.'
        : `Read as ${kindOf(value)}.`;
  return html`<details class="filter-builder">
    <summary>Add a condition</summary>
    <div class="filter-row" onKeyDown=${onKeyDown}>
      <${TextInput} label="Field" value=${field} onInput=${setField} suggestions=${fields} />
      <${Select} label="Condition" value=${operator} options=${OPERATORS} onChange=${setOperator} />
      ${takesValue(operator) && html`<${TextInput} label="Value" value=${value} onInput=${setValue} hint=${hint} />`}
      <${Button} disabled=${!canAdd} onClick=${add}>Add<//>
    </div>
  </details>`;
}
