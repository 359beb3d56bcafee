import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Loadable } from '../../../components/loadable.ts';
import { type Column, Table } from '../../../components/table.ts';
import { announce } from '../../../components/toast.ts';
import { TypedConfirmation } from '../../../components/typed-confirmation.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { AliasDialog } from './alias-dialog.ts';
import { RepointDialog } from './repoint-dialog.ts';

/** Aliases that one request returns: as many as an account may have. */
const ALL = 1_000;

interface AliasCardProps {
  collection: string;
  mayChange: boolean;
}

/** What the reader does with an alias. */
type Doing = { what: 'create' } | { what: 'repoint' | 'delete'; alias: string };

/** Other names of the collection, which can be pointed elsewhere. */
export function AliasCard({ collection, mayChange }: AliasCardProps) {
  const [doing, setDoing] = useState<Doing | null>(null);
  const aliases = useData((signal) => ask('listAliases', { query: { limit: ALL } }, signal), [collection]);
  const close = () => setDoing(null);
  const done = (text: string) => {
    announce(text);
    close();
    aliases.reload();
  };
  const show = ({ aliases: all }: Api.ListAliasesResult) => {
    const own = all.filter((one) => one.collection === collection);
    return html`${
      own.length === 0
        ? html`<p class="muted">No alias points to this collection.</p>`
        : html`<${AliasTable} aliases=${own} onDo=${mayChange ? setDoing : null} />`
    }
    ${mayChange && html`<div class="more-row"><${Button} onClick=${() => setDoing({ what: 'create' })}>New alias<//></div>`}
    ${
      doing?.what === 'create' &&
      html`<${AliasDialog} collection=${collection} aliases=${all} onClose=${close} onDone=${done} />`
    }`;
  };
  return html`<section class="card">
    <div>
      <h2>Aliases</h2>
      <p class="muted">
        Requests can use an alias in place of the name. Point it to another collection, and programs move over at once.
      </p>
    </div>
    <${Loadable} from=${aliases} what="the aliases" show=${show} />
    ${
      doing?.what === 'repoint' &&
      html`<${RepointDialog} alias=${doing.alias} from=${collection} onClose=${close} onDone=${done} />`
    }
    ${doing?.what === 'delete' && html`<${DeleteAlias} alias=${doing.alias} onClose=${close} onDone=${done} />`}
  </section>`;
}

interface AliasTableProps {
  aliases: readonly Api.Alias[];
  /** Null for a key that may not. */
  onDo: ((doing: Doing) => void) | null;
}

function AliasTable({ aliases, onDo }: AliasTableProps) {
  const columns: readonly Column<Api.Alias>[] = [
    { title: 'Alias', isWide: true, cell: ({ alias }) => html`<code>${alias}</code>` },
  ];
  const actions: Column<Api.Alias> = {
    title: 'Actions',
    isNumber: true,
    cell: ({ alias }) => html`<span class="row-actions">
      <${Button} kind="quiet" label=${`Point ${alias} elsewhere`} onClick=${() => onDo?.({ what: 'repoint', alias })}>
        Point elsewhere…
      <//>
      <${Button} kind="quiet" label=${`Delete ${alias}`} onClick=${() => onDo?.({ what: 'delete', alias })}>Delete…<//>
    </span>`,
  };
  return html`<${Table} label="Aliases" columns=${onDo === null ? columns : [...columns, actions]} rows=${aliases}
    keyOf=${({ alias }: Api.Alias) => alias} />`;
}

interface DeleteAliasProps {
  alias: string;
  onClose(): void;
  onDone(text: string): void;
}

function DeleteAlias({ alias, onClose, onDone }: DeleteAliasProps) {
  const remove = async (signal: AbortSignal) => {
    await ask('deleteAlias', { path: { alias } }, signal);
    onDone(`Deleted the alias ${alias}.`);
  };
  return html`<${TypedConfirmation} title=${`Delete ${alias}`} phrase=${alias} act="Delete the alias" perform=${remove}
    onClose=${onClose}>
    <p>Requests with this name get “not found” from now on. The collection stays.</p>
  <//>`;
}
