import type * as Api from '../../../../../../../client/api/generated.ts';
import { Bar } from '../../../components/bar.ts';
import { Loadable } from '../../../components/loadable.ts';
import { numberText } from '../../../components/number-text.ts';
import { ask } from '../../../data/service.ts';
import { useData } from '../../../data/use-data.ts';
import { html } from '../../../html.ts';
import { hrefOf } from '../../../shell/route.ts';
import { RecordLink } from '../record-link.ts';
import type { RecordPlace } from './record-place.ts';

const NEIGHBOURS = 5;

/** The records most like a record. */
export function Neighbours({ collection: { name, vector_count }, id, namespace }: RecordPlace) {
  const body = {
    id,
    topK: NEIGHBOURS + 1,
    includeMetadata: false,
    ...(namespace !== '' && { namespace }),
  } as Api.Query;
  const loaded = useData((signal) => ask('queryVectors', { path: { name }, body }, signal), [name, id, namespace]);
  const show = ({ matches }: Api.QueryVectorsResult) => {
    const others = matches.filter((match) => match.id !== id).slice(0, NEIGHBOURS);
    if (others.length === 0) return html`<p class="muted">There are no others.</p>`;
    const high = Math.max(...others.map(({ score }) => score));
    return html`<ol class="neighbours">
      ${others.map(
        (match) => html`<li key=${match.id}>
          <${RecordLink} collection=${name} namespace=${namespace} id=${match.id} />
          <span class="score"><${Bar} share=${high > 0 ? match.score / high : 0} />${numberText.score(match.score)}</span>
        </li>`,
      )}
    </ol>`;
  };
  const query = { id, ...(namespace !== '' && { namespace }) };
  return html`<div class="card">
    <h3>Nearest</h3>
    <${Loadable} from=${loaded} what="neighbours" show=${show} />
    ${vector_count > NEIGHBOURS && html`<p><a href=${hrefOf(['collections', name, 'query'], query)}>Query near this record</a></p>`}
  </div>`;
}
