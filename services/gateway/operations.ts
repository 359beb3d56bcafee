import type { IncomingHttpHeaders } from 'node:http';
import { isOperatorHeader } from '../../lib/secret/operator-token.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  JSON_TYPE,
  jsonAnswer,
  livezPage,
  metricsPage,
  type PlainAnswer,
  type ReadinessSource,
  readinessNow,
  readyzPage,
  type WebPage,
} from '../../mixins/health/health-pages.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import { type Config, schemeOf } from '../../process/config.ts';
import { Asset } from './codings/asset.ts';
import { WebConsole } from './console/web-console.ts';
import { frontPage } from './front-page.ts';
import { SharedPage } from './shared-page.ts';
import type { FindPage } from './web-pages.ts';

interface OperationsParts extends ReadinessSource {
  config: Pick<Config, 'adminToken' | 'healthPort' | 'tlsCert'>;
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
    [
      '/',
      async ({ host = '' }) => frontPage(`${schemeOf(parts.config)}://${host}`, (await readinessNow(parts)).status),
    ],
    ['/livez', livezPage],
    ['/readyz', (headers) => readyzPage(parts, headers, parts.config.adminToken)],
    ['/metrics', (headers) => (mayReadMetrics(parts.config, headers) ? metrics.answer() : METRICS_REFUSED)],
    ...Object.entries(parts.documents).map(documentPage),
  ]);
  return (path) => {
    const page = pages.get(path);
    return page === undefined ? webConsole.find(path) : { page, pattern: path };
  };
}

/** A health port means that this port may be public, so only the operator reads metrics here. */
const mayReadMetrics = ({ adminToken, healthPort }: OperationsParts['config'], headers: IncomingHttpHeaders): boolean =>
  healthPort === null || isOperatorHeader(headers.authorization, adminToken);

const METRICS_REFUSED: PlainAnswer = {
  ...jsonAnswer(401, { error: "Metrics are on the health port; here they need the operator's token." }),
  headers: { 'WWW-Authenticate': 'Bearer' },
};

/** All responses share one copy of the document in each coding. */
function documentPage([path, document]: [string, object]): [string, WebPage] {
  const asset = new Asset(JSON_TYPE, JSON.stringify(document));
  return [
    path,
    async (headers) => ({ status: 200, type: asset.type, ...(await asset.bodyFor(headers['accept-encoding'])) }),
  ];
}
