import { Checkbox } from '../../../components/checkbox.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { COLUMNS_MAX } from './use-columns.ts';

interface ColumnChoiceProps {
  fields: readonly string[];
  columns: readonly string[];
  choose(columns: readonly string[]): void;
}

const NAME_MAX = 64;

/** Chooses which fields have columns of their own. */
export function ColumnChoice({ fields, columns, choose }: ColumnChoiceProps) {
  const all = [...new Set([...fields, ...columns])].sort();
  if (all.length === 0) return null;
  const isFull = columns.length >= COLUMNS_MAX;
  return html`<details class="column-choice">
    <summary>Columns</summary>
    <div role="group" aria-label="Columns">
      ${all.map((field) => {
        const isShown = columns.includes(field);
        return html`<${Checkbox}
          key=${field}
          label=${html`<${VisibleText} value=${field.slice(0, NAME_MAX)} />${field.length > NAME_MAX && '…'}`}
          checked=${isShown}
          disabled=${isFull && !isShown}
          onChange=${(isWanted: boolean) =>
            choose(isWanted ? [...columns, field] : columns.filter((other) => other !== field))}
        />`;
      })}
    </div>
    ${isFull && html`<p class="hint">At most ${COLUMNS_MAX} columns.</p>`}
  </details>`;
}
