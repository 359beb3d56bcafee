import {
  JSON_TYPE,
  jsonAnswer,
  livezPage,
  metricsPage,
  type PlainAnswer,
  type Readiness,
  readyzPage,
} from '../../mixins/health/health-pages.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import type { ServiceGauges } from '../../mixins/metrics-gauges.ts';

export type { Readiness };

export interface OperationsParts {
  readiness(): Promise<Readiness>;
  isStopping(): boolean;
  metrics: Metrics;
  gauges: ServiceGauges;
  openApi: string;
}

const ABOUT = {
  service: 'Provec',
  about: 'A vector database that can prove what it stores.',
  api: '/api/v1',
  openapi: '/openapi.json',
  health: ['/livez', '/readyz'],
  metrics: '/metrics',
};

/** What monitors, orchestrators and curious people ask for, by exact path. */
export class Operations {
  readonly #pages: ReadonlyMap<string, () => PlainAnswer | Promise<PlainAnswer>>;

  constructor(parts: OperationsParts) {
    this.#pages = new Map<string, () => PlainAnswer | Promise<PlainAnswer>>([
      ['/', () => jsonAnswer(200, ABOUT)],
      ['/livez', livezPage],
      ['/readyz', () => readyzPage(parts)],
      ['/metrics', () => metricsPage(parts)],
      ['/openapi.json', () => ({ status: 200, type: JSON_TYPE, text: parts.openApi })],
    ]);
  }

  /** The page of a path; null when it is none of these. */
  pageOf(path: string): (() => PlainAnswer | Promise<PlainAnswer>) | null {
    return this.#pages.get(path) ?? null;
  }
}
