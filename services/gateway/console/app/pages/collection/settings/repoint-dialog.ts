import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Dialog } from '../../../components/dialog.ts';
import { DialogFoot } from '../../../components/dialog-foot.ts';
import { Loadable } from '../../../components/loadable.ts';
import { TextInput } from '../../../components/text-input.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';

/** Collections that the field suggests; others can be typed. */
const SUGGESTED = 100;

interface RepointDialogProps {
  alias: string;
  /** The collection that it points to. */
  from: string;
  onClose(): void;
  onDone(text: string): void;
}

/** Points an alias to another collection. */
export function RepointDialog({ alias, from, onClose, onDone }: RepointDialogProps) {
  const [target, setTarget] = useState('');
  const known = useData((signal) => ask('listCollections', { query: { limit: SUGGESTED } }, signal), []);
  const put = useAction(async (signal) => {
    await ask('putAlias', { path: { alias }, body: { collection: target } }, signal);
    onDone(`${alias} points to ${target}.`);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (target !== '') put.run();
  };
  const show = ({ collections }: Api.ListCollectionsResult) => html`<form onSubmit=${submit}>
    <p>
      <strong>${alias}</strong> points to <strong>${from}</strong>. Requests that begin after the change use the other
      collection; those that run finish on this one.
    </p>
    <${TextInput} label="Collection" value=${target} onInput=${setTarget} isCode
      suggestions=${collections.map(({ name }) => name).filter((name) => name !== from)} />
    <${DialogFoot} act="Point it there" action=${put} disabled=${target === ''} onClose=${onClose} />
  </form>`;
  return html`<${Dialog} title=${`Point ${alias} elsewhere`} onClose=${onClose}>
    <${Loadable} from=${known} what="the collections" show=${show} />
  <//>`;
}
