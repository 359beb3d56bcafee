import type { Failure } from '../data/failure.ts';
import { type Children, html } from '../html.ts';
import type { Tone } from './badge.ts';
import { Icon } from './icon.ts';

/** A line that needs attention, beside what it is about. */
export function Notice({ tone, children }: { tone: Tone; children?: Children }) {
  const icon = tone === 'good' ? 'check' : 'warning';
  return html`<div class=${`notice notice-${tone}`} role=${tone === 'bad' ? 'alert' : undefined}>
    <${Icon} name=${icon} /><div>${children}</div>
  </div>`;
}

/** Why an action failed. */
export function FailureNotice({ failure }: { failure: Failure | null }) {
  if (failure === null) return null;
  return html`<${Notice} tone="bad"><strong>${failure.title}.</strong> ${failure.text}<//>`;
}
