import { Notice } from '../../../components/notice.ts';
import { VisibleText } from '../../../components/visible-text.ts';
import { html } from '../../../html.ts';
import { hrefOf } from '../../../shell/route.ts';
import type { Alert } from './alerts.ts';

/** What needs attention, in words; one line if nothing does. */
export function AlertList({ alerts }: { alerts: readonly Alert[] }) {
  if (alerts.length === 0) return html`<div class="alerts"><${Notice} tone="good">Nothing needs attention.<//></div>`;
  return html`<section class="alerts" aria-label="Alerts">
    ${alerts.map(
      ({ tone, title, text, tab }) => html`<${Notice} key=${title} tone=${tone}>
        <strong><${VisibleText} value=${title} /></strong><br />
        <${VisibleText} value=${text} max=${400} />
        ${tab !== undefined && html` <a href=${hrefOf(['operator', tab])}>Show ${tab}</a>`}
      <//>`,
    )}
  </section>`;
}
