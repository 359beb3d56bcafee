import { Button } from '../../../components/button.ts';
import { numberText } from '../../../components/number-text.ts';
import { Waiting } from '../../../components/waiting.ts';
import { html } from '../../../html.ts';

/** What a map is being made of. */
export type MapStep = { kind: 'reading'; done: number; of: number } | { kind: 'projecting'; share: number };

interface MapProgressProps {
  /** Null before the first report. */
  step: MapStep | null;
  onCancel(): void;
}

/** How far a map is, with a way out. */
export function MapProgress({ step, onCancel }: MapProgressProps) {
  if (step === null) return html`<${Waiting} what="the map" onCancel=${onCancel} />`;
  const share = step.kind === 'projecting' ? step.share : step.done / Math.max(1, step.of);
  const text =
    step.kind === 'projecting'
      ? 'Finding the axes'
      : `${numberText.whole(step.done)} of ${numberText.count(step.of, 'record')} read`;
  return html`<div class="card map-progress">
    <div class="progress">
      <progress value=${share} max="1" aria-label="Progress of the map"></progress>
      <span>${text}</span>
      <${Button} onClick=${onCancel}>Cancel<//>
    </div>
  </div>`;
}
