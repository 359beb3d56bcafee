import type { Clock } from '../../lib/time/clock.ts';
import {
  JSON_TYPE,
  livezPage,
  metricsPage,
  type ReadinessSource,
  readinessNow,
  readyzPage,
  type WebPage,
} from '../../mixins/health/health-pages.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import { WebConsole } from './console/web-console.ts';
import { frontPage } from './front-page.ts';
import { SharedPage } from './shared-page.ts';
import type { FindPage } from './web-pages.ts';

interface OperationsParts extends ReadinessSource {
  adminToken: string | null;
  clock: Clock;
  metrics: Metrics;
  refresh(): Promise<void>;
  /** OpenAPI documents by path. */
  documents: Readonly<Record<string, object>>;
}

/** Returns the pages for monitors, orchestrators and browsers. */
export function webPages(parts: OperationsParts): FindPage {
  const metrics = new SharedPage(
    () => metricsPage(parts),
    () => parts.clock.monotonicMs(),
  );
  const webConsole = new WebConsole();
  const pages = new Map<string, WebPage>([
    ['/', async ({ host = '' }) => frontPage(host, (await readinessNow(parts)).status)],
    ['/livez', livezPage],
    ['/readyz', (headers) => readyzPage(parts, headers, parts.adminToken)],
    ['/metrics', () => metrics.answer()],
    ...Object.entries(parts.documents).map(documentPage),
  ]);
  return (path) => {
    const page = pages.get(path);
    return page === undefined ? webConsole.find(path) : { page, pattern: path };
  };
}

/** All responses share one copy of the document. */
function documentPage([path, document]: [string, object]): [string, WebPage] {
  const body = Buffer.from(JSON.stringify(document));
  return [path, () => ({ status: 200, type: JSON_TYPE, body })];
}
