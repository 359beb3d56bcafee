import { AnchorCard } from '../../../components/anchor-card.ts';
import { RootCard } from '../../../components/root-card.ts';
import { html } from '../../../html.ts';
import type { TabProps } from '../tab-props.ts';
import { AuditLinks } from './audit-links.ts';
import { RootTimeline } from './root-timeline.ts';
import { VerifyPanel } from './verify-panel.ts';

/** What proves the content of a collection, and whether it still does. */
export default function TrustTab({ collection }: TabProps) {
  const { merkleRoot, version, vector_count, anchor } = collection;
  return html`<${VerifyPanel} collection=${collection} />
    <div class="split-even split">
      <${RootCard} root=${merkleRoot} version=${version} count=${vector_count} />
      <${AnchorCard} anchor=${anchor} version=${version} />
    </div>
    <${AuditLinks} collection=${collection.name} />
    <${RootTimeline} collection=${collection} />`;
}
