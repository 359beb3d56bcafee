import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../client/api/generated.ts';
import { Checkbox } from '../../components/checkbox.ts';
import { Dialog } from '../../components/dialog.ts';
import { DialogFoot } from '../../components/dialog-foot.ts';
import { Select } from '../../components/select.ts';
import { TextInput } from '../../components/text-input.ts';
import { ask } from '../../data/service.ts';
import { useAction } from '../../data/use-action.ts';
import { html } from '../../html.ts';

interface Draft {
  name: string;
  dimensions: string;
  metric: string;
  shards: string;
  quantization: string;
  deletionProtection: boolean;
}

const NEW: Draft = {
  name: '',
  dimensions: '',
  metric: 'cosine',
  shards: '1',
  quantization: 'bf16',
  deletionProtection: false,
};
const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const NAME_MAX = 64;
const DIMENSIONS_MAX = 8_192;
const METRICS = { cosine: 'Cosine', euclidean: 'Euclidean', dot: 'Dot product' };
const SHARDS = Object.fromEntries([1, 2, 4, 8, 16, 32, 64, 128, 256].map((count) => [`${count}`, `${count}`]));
const QUANTIZATIONS = { bf16: 'bf16: half the memory', f32: 'f32: exact', f16: 'f16', i8: 'i8: a quarter' };

function nameFault(name: string): string | null {
  if (name === '') return 'Give it a name.';
  if (name.length > NAME_MAX) return `At most ${NAME_MAX} characters; these are ${name.length}.`;
  return NAME.test(name) ? null : 'Letters, digits, and between them . _ and -';
}

function dimensionsFault(text: string): string | null {
  const count = Number(text);
  const isFine = text.trim() !== '' && Number.isInteger(count) && count >= 1 && count <= DIMENSIONS_MAX;
  return isFine ? null : `A whole number from 1 to ${DIMENSIONS_MAX.toLocaleString()}: the length of your vectors.`;
}

interface CreateDialogProps {
  onClose(): void;
  onCreated(name: string): void;
}

/** Asks for what a new collection needs, and creates it. */
export function CreateDialog({ onClose, onCreated }: CreateDialogProps) {
  const [draft, setDraft] = useState(NEW);
  const [isTried, setTried] = useState(false);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const faults = { name: nameFault(draft.name), dimensions: dimensionsFault(draft.dimensions) };
  const create = useAction(async (signal) => {
    const body = {
      ...draft,
      dimensions: Number(draft.dimensions),
      shards: Number(draft.shards),
    } as Api.CreateCollection;
    await ask('createCollection', { body }, signal);
    onCreated(draft.name);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(true);
    if (faults.name === null && faults.dimensions === null) create.run();
  };
  const shown = (name: keyof typeof faults) => (isTried || draft[name] !== '' ? faults[name] : null);
  return html`<${Dialog} title="New collection" onClose=${onClose}>
    <form onSubmit=${submit} novalidate>
      <${TextInput} label="Name" value=${draft.name} error=${shown('name')} placeholder="notes"
        onInput=${(name: string) => change({ name })} />
      <div class="field-row">
        <${TextInput} label="Dimensions" type="number" min=${1} max=${DIMENSIONS_MAX} value=${draft.dimensions}
          error=${shown('dimensions')} placeholder="768" onInput=${(dimensions: string) => change({ dimensions })} />
        <${Select} label="Metric" value=${draft.metric} options=${METRICS}
          onChange=${(metric: string) => change({ metric })} />
      </div>
      <${MoreSettings} draft=${draft} change=${change} />
      <${DialogFoot} act="Create" action=${create} onClose=${onClose} />
    </form>
  <//>`;
}

function MoreSettings({ draft, change }: { draft: Draft; change(part: Partial<Draft>): void }) {
  return html`<details class="more-settings">
    <summary>More settings</summary>
    <div class="field-row">
      <${Select} label="Shards" value=${draft.shards} options=${SHARDS} hint="Cannot be changed later."
        onChange=${(shards: string) => change({ shards })} />
      <${Select} label="Index precision" value=${draft.quantization} options=${QUANTIZATIONS}
        hint="Scores are always exact." onChange=${(quantization: string) => change({ quantization })} />
    </div>
    <${Checkbox} label="Protect from deletion" checked=${draft.deletionProtection}
      onChange=${(deletionProtection: boolean) => change({ deletionProtection })} />
  </details>`;
}
