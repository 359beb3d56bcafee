import { Button } from '../../components/button.ts';
import { EmptyState } from '../../components/empty-state.ts';
import { html } from '../../html.ts';

/** An account without collections. */
export function FirstCollection({ mayCreate, onCreate }: { mayCreate: boolean; onCreate(): void }) {
  return html`<${EmptyState} title="No collections yet" icon="layers">
    <p>A collection holds vectors of one length, with metadata. Every write to it gives a root that proves its content.</p>
    ${
      mayCreate
        ? html`<${Button} kind="primary" onClick=${onCreate}>Create the first one<//>`
        : html`<p>This key may not create one. Ask for a key with the scope <code>manage</code>.</p>`
    }
  <//>`;
}
