import { numberText } from '../../../components/number-text.ts';
import { Sparkline } from '../../../components/sparkline.ts';
import { html } from '../../../html.ts';
import type { Reading } from './reading.ts';

/** The figures of one moment; null where there is none. */
export interface FigureSample {
  queries: number | null;
  p50Ms: number | null;
  p99Ms: number | null;
  writes: number | null;
  errors: number | null;
  memoryBytes: number;
  memoryLimitBytes: number;
  waiting: number;
  pending: number | null;
}

/** Returns what is drawn of a reading. */
export function sampleOf({ nodes, figures, levels }: Reading): FigureSample {
  const rates = figures?.rates ?? null;
  const total = (name: 'bytes' | 'memoryLimitBytes' | 'queued') =>
    nodes.shardNodes.reduce((sum, node) => sum + (node[name] ?? 0), 0);
  return {
    queries: rates?.queries.perSecond ?? null,
    p50Ms: rates?.queries.p50Ms ?? null,
    p99Ms: rates?.queries.p99Ms ?? null,
    writes: rates?.upserts.perSecond ?? null,
    errors: rates?.requests.errorsPerSecond ?? null,
    memoryBytes: total('bytes'),
    memoryLimitBytes: total('memoryLimitBytes'),
    waiting: (levels?.waiting ?? 0) + total('queued'),
    pending: figures?.anchors?.pending ?? null,
  };
}

interface Tile {
  title: string;
  /** Under the figure. */
  note: string;
  value(sample: FigureSample): number | null;
  write(value: number): string;
}

const rate = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const perSecond = (value: number): string => `${rate.format(value)}/s`;

const TILES: readonly Tile[] = [
  { title: 'Queries', note: 'single and in batches', value: ({ queries }) => queries, write: perSecond },
  { title: 'Median time', note: 'p50 of queries', value: ({ p50Ms }) => p50Ms, write: numberText.ms },
  { title: 'Slowest 1 %', note: 'p99 of queries', value: ({ p99Ms }) => p99Ms, write: numberText.ms },
  { title: 'Memory', note: '', value: ({ memoryBytes }) => memoryBytes, write: numberText.bytes },
  { title: 'Writes', note: 'upserts and imports', value: ({ writes }) => writes, write: perSecond },
  { title: 'Errors', note: 'answers with 5xx', value: ({ errors }) => errors, write: perSecond },
  { title: 'Queued', note: 'requests that wait', value: ({ waiting }) => waiting, write: numberText.whole },
  { title: 'Anchors', note: 'roots that wait', value: ({ pending }) => pending, write: numberText.whole },
];

/** The newest figures, and how they got there. */
export function LiveFigures({ samples }: { samples: readonly FigureSample[] }) {
  const last = samples.at(-1);
  if (last === undefined) return null;
  return html`<dl class="tiles">
    ${TILES.map(({ title, note, value, write }) => {
      const now = value(last);
      const course = samples.flatMap((sample) => value(sample) ?? []);
      return html`<div class="tile" key=${title}>
        <dt>${title}</dt>
        <dd>
          <span class="tile-value">${now === null ? '–' : write(now)}</span>
          <${Sparkline} values=${course} label=${`${title} in the last minutes`} />
          <span class="tile-note">${title === 'Memory' ? `of ${numberText.bytes(last.memoryLimitBytes)}` : note}</span>
        </dd>
      </div>`;
    })}
  </dl>`;
}
