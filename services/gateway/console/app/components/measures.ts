import type * as Api from '../../../../../client/api/generated.ts';
import { html } from '../html.ts';
import { Bar } from './bar.ts';
import { numberText } from './number-text.ts';

type Measure = keyof Api.Usage['usage'];
export type NamedMeasure = readonly [measure: Measure, label: string];

/** What counts for the plan at any moment. */
export const STORED_MEASURES: readonly NamedMeasure[] = [
  ['vector_count', 'Stored vectors'],
  ['collection_count', 'Collections'],
  ['key_count', 'API keys'],
];
/** What counts for the plan since the month began. */
export const MONTHLY_MEASURES: readonly NamedMeasure[] = [
  ['write_count', 'Records written'],
  ['query_count', 'Queries'],
];

/** What an account uses of the limits of its plan. */
export function Measures({ usage, measures }: { usage: Api.Usage; measures: readonly NamedMeasure[] }) {
  return html`<ul class="measures">
    ${measures.map(([measure, label]) => {
      const used = usage.usage[measure];
      const limit = usage.limits[measure];
      const share = limit === null || limit === 0 ? 0 : used / limit;
      return html`<li key=${measure}>
        <span>${label}</span>
        <span class="measure-value">
          <strong>${numberText.whole(used)}</strong> ${limit === null ? 'no limit' : `of ${numberText.whole(limit)}`}
        </span>
        ${limit !== null && html`<${Bar} share=${share} isFull=${share >= 0.9} />`}
      </li>`;
    })}
  </ul>`;
}
