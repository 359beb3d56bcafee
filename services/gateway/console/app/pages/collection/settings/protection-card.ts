import { Badge } from '../../../components/badge.ts';
import { Button } from '../../../components/button.ts';
import { FailureNotice } from '../../../components/notice.ts';
import { announce } from '../../../components/toast.ts';
import { ask } from '../../../data/service.ts';
import { useAction } from '../../../data/use-action.ts';
import { html } from '../../../html.ts';
import type { ChangeableProps } from './changeable-props.ts';

/** Whether the collection can be deleted. */
export function ProtectionCard({ collection, reload, mayChange }: ChangeableProps) {
  const { name, deletionProtection: isOn } = collection;
  const change = useAction(async (signal) => {
    await ask('updateCollection', { path: { name }, body: { deletionProtection: !isOn } }, signal);
    announce(isOn ? 'The collection can be deleted now.' : 'The collection is protected from deletion.');
    reload();
  });
  return html`<section class="card">
    <div class="card-head">
      <div>
        <h2>Protection from deletion <${Badge} tone=${isOn ? 'good' : 'neutral'}>${isOn ? 'On' : 'Off'}<//></h2>
        <p class="muted">While it is on, the service refuses to delete the collection, whatever the key may do.</p>
      </div>
      ${
        mayChange &&
        html`<${Button} isBusy=${change.isBusy} onClick=${() => change.run()}>
          ${isOn ? 'Switch off protection' : 'Switch on protection'}
        <//>`
      }
    </div>
    <${FailureNotice} failure=${change.failure} />
  </section>`;
}
