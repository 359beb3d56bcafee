import { type Children, html } from '../html.ts';
import { Icon, type IconName } from './icon.ts';

interface EmptyStateProps {
  title: string;
  icon?: IconName;
  /** Whether it is all that the page shows. */
  isPage?: boolean;
  /** What to do next. */
  children?: Children;
}

/** Where there is nothing yet: says what would be here, and leads to the first step. */
export function EmptyState({ title, icon = 'empty', isPage, children }: EmptyStateProps) {
  return html`<div class="state state-empty"><${Icon} name=${icon} /><${isPage ? 'h1' : 'h2'}>${title}<//>${children}</div>`;
}
