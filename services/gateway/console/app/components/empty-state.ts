import { type Children, html } from '../html.ts';
import { Icon, type IconName } from './icon.ts';

interface EmptyStateProps {
  title: string;
  icon?: IconName;
  /** What to do next. */
  children?: Children;
}

/** Where there is nothing yet: says what would be here, and leads to the first step. */
export function EmptyState({ title, icon = 'empty', children }: EmptyStateProps) {
  return html`<div class="state state-empty"><${Icon} name=${icon} /><h2>${title}</h2>${children}</div>`;
}
