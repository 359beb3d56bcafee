import type * as Api from '../../../../../../../client/api/generated.ts';
import { Bar } from '../../../components/bar.ts';
import { EmptyState } from '../../../components/empty-state.ts';
import { Notice } from '../../../components/notice.ts';
import { numberText } from '../../../components/number-text.ts';
import { type Column, Table } from '../../../components/table.ts';
import { html } from '../../../html.ts';
import { MetadataText } from '../metadata-text.ts';
import { RecordLink } from '../record-link.ts';
import { recallOf } from './recall.ts';

/** What a query gave, and what every record would have given. */
export interface QueryOutcome {
  matches: readonly Api.Match[];
  warnings: readonly string[];
  /** Time in ms from the request to the answer, as this browser saw it. */
  ms: number;
  /** Null unless it was asked for. */
  exact: { matches: readonly Api.Match[]; ms: number } | null;
}

function columnsOf(collection: string, namespace: string, matches: readonly Api.Match[]): readonly Column<Api.Match>[] {
  const scores = matches.map(({ score }) => score);
  const [low, high] = [Math.min(...scores, 0), Math.max(...scores)];
  const shareOf = (score: number) => (high === low ? 1 : (score - low) / (high - low));
  return [
    { title: '#', isNumber: true, isExtra: true, cell: (_, at) => numberText.whole(at + 1) },
    { title: 'Id', cell: ({ id }) => html`<${RecordLink} collection=${collection} namespace=${namespace} id=${id} />` },
    {
      title: 'Score',
      cell: ({ score }) =>
        html`<span class="score"><${Bar} share=${shareOf(score)} />${numberText.score(score)}</span>`,
    },
    {
      title: 'Metadata',
      isExtra: true,
      isWide: true,
      cell: ({ metadata }) => html`<${MetadataText} metadata=${metadata} />`,
    },
  ];
}

interface QueryResultsProps {
  collection: string;
  namespace: string;
  outcome: QueryOutcome;
}

/** The matches of a query, with its figures. */
export function QueryResults({ collection, namespace, outcome }: QueryResultsProps) {
  const { matches, warnings, ms, exact } = outcome;
  return html`<section aria-label="Outcome of the query">
    <dl class="figures" aria-live="polite">
      <div><dt>Matches</dt><dd>${numberText.whole(matches.length)}</dd></div>
      <div><dt>Round trip</dt><dd>${numberText.ms(ms)}</dd></div>
      ${exact !== null && html`<${RecallFigures} found=${matches} exact=${exact} />`}
    </dl>
    ${warnings.map((warning) => html`<${Notice} tone="waiting">${warning}<//>`)}
    ${
      matches.length === 0
        ? html`<${EmptyState} title="Nothing matches"><p>No record of this namespace meets the filter.</p><//>`
        : html`<${Table}
            label="Matches"
            columns=${columnsOf(collection, namespace, matches)}
            rows=${matches}
            keyOf=${({ id }: Api.Match) => id}
          />`
    }
  </section>`;
}

function RecallFigures({ found, exact }: { found: readonly Api.Match[]; exact: NonNullable<QueryOutcome['exact']> }) {
  const { hits, share } = recallOf(found, exact.matches);
  return html`<div>
      <dt>Recall</dt>
      <dd>${numberText.percent(share)} <small>${numberText.whole(hits)} of ${numberText.whole(exact.matches.length)}</small></dd>
    </div>
    <div><dt>Exact search</dt><dd>${numberText.ms(exact.ms)}</dd></div>`;
}
