import { TextInput } from '../../components/text-input.ts';
import { ask } from '../../data/service.ts';
import { useData } from '../../data/use-data.ts';
import { html } from '../../html.ts';

/** Namespaces that are suggested. */
const SUGGESTED = 100;

interface NamespaceFieldProps {
  collection: string;
  value: string;
  onInput(value: string): void;
}

/** Takes a namespace, and suggests those that hold records. */
export function NamespaceField({ collection, value, onInput }: NamespaceFieldProps) {
  const { data } = useData(
    (signal) => ask('listNamespaces', { path: { name: collection }, query: { limit: SUGGESTED } }, signal),
    [collection],
  );
  const names =
    data.state === 'ready' ? data.value.namespaces.map(({ name }) => name).filter((name) => name !== '') : [];
  return html`<${TextInput}
    label="Namespace"
    value=${value}
    onInput=${onInput}
    suggestions=${names}
    placeholder="default"
  />`;
}
