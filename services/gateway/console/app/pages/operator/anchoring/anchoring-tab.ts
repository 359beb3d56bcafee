import { useState } from 'preact/hooks';
import type * as Api from '../../../../../../../client/api/generated.ts';
import { Button } from '../../../components/button.ts';
import { Paged } from '../../../components/paged.ts';
import { askOperator } from '../../../data/operator-session.ts';
import { usePages } from '../../../data/use-pages.ts';
import { html } from '../../../html.ts';
import { goTo, hrefOf, type PageRoute } from '../../../shell/route.ts';
import { AllAnchorsTable } from './all-anchors-table.ts';
import { AuthorityCard } from './authority-card.ts';
import { HaltedCard } from './halted-card.ts';
import { ResumeDialog } from './resume-dialog.ts';

type State = 'all' | 'pending' | 'halted';

const PAGE = 100;
const STATES: Readonly<Record<State, readonly [label: string, none: string]>> = {
  all: ['All', 'No collection has a root to anchor yet.'],
  pending: ['Waiting', 'No root waits for the ledger.'],
  halted: ['Halted', 'No collection is halted.'],
};
const isState = (text: string | null): text is State => text !== null && Object.hasOwn(STATES, text);

/** The ledger, what waits for it, and what is halted. */
export default function AnchoringTab({ route }: { route: PageRoute }) {
  const given = route.query.get('state');
  const state = isState(given) ? given : 'all';
  const [resumed, setResumed] = useState<Api.AnchorOverview | null>(null);
  const anchors = usePages(
    (cursor, signal) => {
      const query = { limit: PAGE, ...(state !== 'all' && { state }), ...(cursor && { cursor }) };
      return askOperator('listAllAnchors', { query }, signal);
    },
    [state],
  );
  const halted = usePages((cursor, signal) => {
    const query = { state: 'halted' as const, limit: PAGE, ...(cursor && { cursor }) };
    return askOperator('listAllAnchors', { query }, signal);
  }, []);
  const changed = () => {
    halted.reload();
    anchors.reload();
  };
  const showHalted = (pages: readonly Api.ListAllAnchorsResult[]) =>
    pages
      .flatMap((page) => page.anchors)
      .map((anchor) => html`<${HaltedCard} key=${anchor.collectionId} anchor=${anchor} onResume=${setResumed} />`);
  const show = (pages: readonly Api.ListAllAnchorsResult[]) => {
    const rows = pages.flatMap((page) => page.anchors);
    if (rows.length === 0) return html`<p class="muted">${STATES[state][1]}</p>`;
    return html`<${AllAnchorsTable} anchors=${rows} />`;
  };
  return html`<${Paged} from=${halted} what="halted collections" show=${showHalted} />
    <${AuthorityCard} />
    <section class="card">
      <div class="card-head">
        <h2>Roots of all collections</h2>
        <div class="button-row">
          <${StateChoice} state=${state} />
          <${Button} onClick=${changed}>Refresh<//>
        </div>
      </div>
      <${Paged} from=${anchors} what="the anchors" show=${show} />
    </section>
    ${
      resumed !== null &&
      html`<${ResumeDialog} anchor=${resumed} onClose=${() => setResumed(null)} onResumed=${changed} />`
    }`;
}

function StateChoice({ state }: { state: State }) {
  return html`<div class="segments" role="group" aria-label="Which roots">
    ${Object.entries(STATES).map(
      ([name, [label]]) => html`<button type="button" aria-pressed=${name === state ? 'true' : 'false'}
        onClick=${() => goTo(hrefOf(['operator', 'anchoring'], name === 'all' ? {} : { state: name }))}>${label}</button>`,
    )}
  </div>`;
}
