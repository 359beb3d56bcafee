import { useState } from 'preact/hooks';
import { Button } from '../../../components/button.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { type Column, Table } from '../../../components/table.ts';
import { TextInput } from '../../../components/text-input.ts';
import { announce } from '../../../components/toast.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import type { ChangeableProps } from './changeable-props.ts';

type Tag = readonly [name: string, text: string];

/** Names with a text each, for the account's own use. */
export function TagsCard({ collection, reload, mayChange }: ChangeableProps) {
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const tags = Object.entries(collection.tags ?? {});
  const change = useAction(async (signal, tag: string, value: string) => {
    // The prototype of a literal would swallow a tag of the name __proto__.
    const body = { tags: Object.fromEntries([[tag, value]]) };
    await ask('updateCollection', { path: { name: collection.name }, body }, signal);
    announce(value === '' ? 'Removed the tag.' : 'Stored the tag.');
    setName('');
    setText('');
    reload();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (name !== '' && text !== '') change.run(name, text);
  };
  return html`<section class="card">
    <div><h2>Tags</h2><p class="muted">Names and texts for your own use, such as who owns the collection.</p></div>
    ${
      tags.length === 0
        ? html`<p class="muted">No tags yet.</p>`
        : html`<${TagTable} tags=${tags} onRemove=${mayChange ? (tag: string) => change.run(tag, '') : null} />`
    }
    ${
      mayChange &&
      html`<form class="inline-form" onSubmit=${submit}>
        <${TextInput} label="Tag" value=${name} onInput=${setName} placeholder="team" />
        <${TextInput} label="Text" value=${text} onInput=${setText} placeholder="search" />
        <${Button} type="submit" disabled=${name === '' || text === ''} isBusy=${change.isBusy}>Set the tag<//>
      </form>`
    }
    <${FailureNotice} failure=${change.failure} />
  </section>`;
}

interface TagTableProps {
  tags: readonly Tag[];
  /** Null for a key that may not. */
  onRemove: ((name: string) => void) | null;
}

function TagTable({ tags, onRemove }: TagTableProps) {
  const columns: readonly Column<Tag>[] = [
    { title: 'Tag', cell: ([name]) => html`<${VisibleText} value=${name} max=${40} />` },
    { title: 'Text', cell: ([, text]) => html`<${VisibleText} value=${text} max=${80} />` },
  ];
  const actions: Column<Tag> = {
    title: 'Actions',
    isNumber: true,
    cell: ([name]) =>
      html`<${Button} kind="quiet" label=${`Remove ${name}`} onClick=${() => onRemove?.(name)}>Remove<//>`,
  };
  return html`<${Table} label="Tags" columns=${onRemove === null ? columns : [...columns, actions]} rows=${tags}
    keyOf=${([name]: Tag) => name} />`;
}
