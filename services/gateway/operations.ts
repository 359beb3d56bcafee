import {
  JSON_TYPE,
  livezPage,
  metricsPage,
  type PlainAnswer,
  type Readiness,
  readyzPage,
} from '../../mixins/health/health-pages.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import type { ServiceGauges } from '../../mixins/metrics-gauges.ts';
import { frontPage } from './front-page.ts';

export type { Readiness };

export interface OperationsParts {
  readiness(): Promise<Readiness>;
  isStopping(): boolean;
  metrics: Metrics;
  gauges: ServiceGauges;
  openApi: string;
}

/** `host`: of the request. */
export type Page = (host: string) => PlainAnswer | Promise<PlainAnswer>;

/** What monitors, orchestrators and curious people ask for, by exact path. */
export class Operations {
  readonly #pages: ReadonlyMap<string, Page>;

  constructor(parts: OperationsParts) {
    this.#pages = new Map<string, Page>([
      ['/', async (host) => frontPage(host, await parts.readiness(), parts.isStopping())],
      ['/livez', livezPage],
      ['/readyz', () => readyzPage(parts)],
      ['/metrics', () => metricsPage(parts)],
      ['/openapi.json', () => ({ status: 200, type: JSON_TYPE, text: parts.openApi })],
    ]);
  }

  /** The page of a path; null when it is none of these. */
  pageOf(path: string): Page | null {
    return this.#pages.get(path) ?? null;
  }
}
