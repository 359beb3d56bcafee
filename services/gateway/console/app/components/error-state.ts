import type { Failure } from '../data/failure.ts';
import { html } from '../html.ts';
import { Button } from './button.ts';
import { CopyButton } from './copy-button.ts';
import { Icon, type IconName } from './icon.ts';

const ICONS: Readonly<Record<Failure['kind'], IconName>> = {
  refused: 'lock',
  missing: 'empty',
  invalid: 'warning',
  busy: 'clock',
  unreachable: 'warning',
  fault: 'warning',
};

interface ErrorStateProps {
  failure: Failure;
  onRetry?: () => void;
  /** Whether it is all that the page shows. */
  isPage?: boolean;
}

/** Why a page, or a part of one, has nothing to show. */
export function ErrorState({ failure, onRetry, isPage }: ErrorStateProps) {
  const { kind, title, text, requestId } = failure;
  return html`<div class=${`state state-${kind}`} role="alert">
    <${Icon} name=${ICONS[kind]} />
    <${isPage ? 'h1' : 'h2'}>${title}<//>
    <p>${text}</p>
    ${kind !== 'refused' && onRetry !== undefined && html`<${Button} onClick=${onRetry}>Try again<//>`}
    ${
      requestId !== null &&
      html`<p class="request-id">Request <code>${requestId}</code><${CopyButton} text=${requestId} what="the request id" /></p>`
    }
  </div>`;
}
