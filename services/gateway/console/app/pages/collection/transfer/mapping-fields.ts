import { Checkbox } from '../../../components/checkbox.ts';
import { Select } from '../../../components/select.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { visibleName } from '../visible-name.ts';
import type { ColumnMapping, ParquetColumn } from './parquet-mapping.ts';

interface MappingFieldsProps {
  columns: readonly ParquetColumn[];
  mapping: ColumnMapping;
  onChange(mapping: ColumnMapping): void;
}

type Part = Exclude<keyof ColumnMapping, 'fields'>;

const NAME_MAX = 64;
/** Columns that are offered one by one. */
const SHOWN = 100;

/** Asks which columns become what of a record. */
export function MappingFields({ columns, mapping, onChange }: MappingFieldsProps) {
  const choice = (part: Part, label: string, kinds: readonly ParquetColumn['kind'][], none: string) => {
    const fitting = columns.filter(({ kind }) => kinds.includes(kind));
    // A dot before each name keeps '' for none, and names such as __proto__ apart from the rest.
    const options = Object.fromEntries([['', none], ...fitting.map(({ name }) => [`.${name}`, visibleName(name)])]);
    const choose = (value: string) => {
      const name = value.slice(1);
      onChange({ ...mapping, [part]: name, fields: mapping.fields.filter((field) => field !== name) });
    };
    return html`<${Select} label=${label} value=${mapping[part] === '' ? '' : `.${mapping[part]}`} options=${options} onChange=${choose} />`;
  };
  const own = [mapping.id, mapping.vector, mapping.namespace, mapping.metadata];
  const others = columns.filter(({ name }) => !own.includes(name)).slice(0, SHOWN);
  const toggle = (name: string) => (isWanted: boolean) =>
    onChange({
      ...mapping,
      fields: isWanted ? [...mapping.fields, name] : mapping.fields.filter((one) => one !== name),
    });
  return html`<div class="field-row">
      ${choice('id', 'Id', ['text', 'number'], 'Choose a column')}
      ${choice('vector', 'Vector', ['list', 'json'], 'Choose a column')}
    </div>
    <div class="field-row">
      ${choice('metadata', 'Metadata as an object', ['object', 'json', 'text'], 'None')}
      ${choice('namespace', 'Namespace', ['text'], 'The default one')}
    </div>
    ${
      others.length > 0 &&
      html`<fieldset>
        <legend>Columns that become fields of the metadata</legend>
        ${others.map(
          ({ name, kind }) => html`<${Checkbox}
            key=${name}
            label=${html`<${VisibleText} value=${name.slice(0, NAME_MAX)} />${name.length > NAME_MAX && '…'} <span class="muted">${kind === 'other' ? '' : kind}</span>`}
            checked=${mapping.fields.includes(name)}
            onChange=${toggle(name)}
          />`,
        )}
      </fieldset>`
    }`;
}
