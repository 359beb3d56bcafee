import { Badge } from '../../components/badge.ts';
import { type Column, Table } from '../../components/table.ts';
import { html } from '../../html.ts';
import type { ApiOperation, ApiParameter, ApiSchema, WrittenDocument } from './api-document.ts';
import { Prose } from './prose.ts';
import { type SchemaRow, schemaRows, typeOf } from './schema-rows.ts';
import { TryIt } from './try-it.ts';

type Components = WrittenDocument['components'];

interface OperationViewProps {
  operation: ApiOperation;
  components: Components;
}

/** One operation: what it does, what it takes and answers, and a form to try it. */
export function OperationView({ operation, components }: OperationViewProps) {
  const { method, path, summary, description, parameters, body, answers, isChange, access } = operation;
  const done = answers.filter(({ status }) => status.startsWith('2'));
  const errors = answers.filter(({ status }) => !status.startsWith('2'));
  return html`<article class="api-operation">
    <header>
      <h2>${summary}</h2>
      <p class="api-address"><code><b class=${`method method-${method.toLowerCase()}`}>${method}</b> ${path}</code>
        ${isChange && html` <${Badge} tone="waiting">Changes data<//>`}
        ${access === 'operator' && html` <${Badge} tone="neutral">Operator<//>`}</p>
      <${Prose} text=${description} />
    </header>
    <${TryIt} operation=${operation} />
    ${parameters.length > 0 && html`<section class="card"><h3>Parameters</h3><${Fields} label="Parameters" rows=${parameters.map((one) => parameterRow(one, components))} /></section>`}
    ${body !== null && html`<section class="card"><h3>Body <small class="muted">${body.type}</small></h3><${SchemaFields} label="Body" schema=${body.schema} components=${components} /></section>`}
    ${done.map(
      ({ status, description: meaning, type, schema }) => html`<section class="card">
        <h3>Answers ${status} <small class="muted">${type}</small></h3>
        <${Prose} text=${meaning} />
        ${schema !== null && html`<${SchemaFields} label=${`Answer ${status}`} schema=${schema} components=${components} />`}
      </section>`,
    )}
    ${
      errors.length > 0 &&
      html`<details class="card api-errors">
        <summary>Errors: ${errors.map(({ status }) => status).join(', ')}</summary>
        <dl>${errors.map(({ status, description: meaning }) => html`<dt>${status}</dt><dd><${Prose} text=${meaning} /></dd>`)}</dl>
      </details>`
    }
  </article>`;
}

const parameterRow = (
  { name, in: place, required, description = '', schema = {} }: ApiParameter,
  components: Components,
) => ({
  name,
  type: `${typeOf(schema, components)}, in the ${place}`,
  isRequired: required === true,
  meaning: description === '' ? (schemaMeaning(schema, components) ?? '') : description,
});

function schemaMeaning(schema: ApiSchema, components: Components): string | undefined {
  if (schema.description !== undefined || schema.$ref === undefined) return schema.description;
  return components?.schemas?.[schema.$ref.split('/').at(-1)!]?.description;
}

const COLUMNS: readonly Column<SchemaRow>[] = [
  {
    title: 'Field',
    cell: ({ name, isRequired }) =>
      html`<code>${name}</code>${isRequired && html` <span class="api-required">required</span>`}`,
  },
  { title: 'Type', isExtra: true, cell: ({ type }) => type },
  { title: 'Meaning', cell: ({ meaning }) => html`<${Prose} text=${meaning} />` },
];

function Fields({ label, rows }: { label: string; rows: readonly SchemaRow[] }) {
  return html`<${Table} label=${label} columns=${COLUMNS} rows=${rows} keyOf=${({ name }: SchemaRow) => name} />`;
}

function SchemaFields({ label, schema, components }: { label: string; schema: ApiSchema; components: Components }) {
  const rows = schemaRows(schema, components);
  if (rows.length === 0) return html`<p class="muted">${typeOf(schema, components)}</p>`;
  return html`<${Fields} label=${label} rows=${rows} />`;
}
