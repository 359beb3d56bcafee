import { type Children, html } from '../html.ts';
import { Icon, type IconName } from './icon.ts';

export type Tone = 'good' | 'waiting' | 'bad' | 'neutral';

const ICONS: Readonly<Record<Tone, IconName | null>> = {
  good: 'check',
  waiting: 'clock',
  bad: 'warning',
  neutral: null,
};

/** A state in a word. Colour is never its only sign. */
export function Badge({ tone, children }: { tone: Tone; children?: Children }) {
  const icon = ICONS[tone];
  return html`<span class=${`badge badge-${tone}`}>${icon !== null && html`<${Icon} name=${icon} />`}${children}</span>`;
}
