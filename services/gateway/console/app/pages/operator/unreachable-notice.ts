import { Notice } from '../../components/notice.ts';
import { VisibleText } from '../../components/visible-text.ts';
import { html } from '../../html.ts';

type Silent = readonly { node: string; error: string }[];

/** Which nodes did not answer, so that a table lacks what only they know. */
export function UnreachableNotice({ nodes }: { nodes: Silent }) {
  if (nodes.length === 0) return null;
  const names = [...new Set(nodes.map(({ node }) => node))];
  return html`<div class="alerts">
    <${Notice} tone="bad">
      <strong>${names.length === 1 ? 'A node does' : `${names.length} nodes do`} not answer,</strong> so what only they
      know is missing: <${VisibleText} value=${names.join(', ')} />
    <//>
  </div>`;
}
