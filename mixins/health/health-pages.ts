import type { IncomingHttpHeaders } from 'node:http';
import { isOperatorHeader } from '../../lib/secret/operator-token.ts';
import type { Metrics } from '../metrics.ts';

/** Whether the service can handle requests. */
export interface Readiness {
  status: 'ready' | 'starting' | 'unavailable' | 'stopping';
  /** Short sentences for the operator, without tenant data; empty if ready. */
  reasons: readonly string[];
}

export interface ReadinessSource {
  readiness(): Promise<Readiness>;
  isStopping(): boolean;
}

/** A response outside the API: without authentication and without tenant data. */
export interface PlainAnswer {
  status: number;
  type: string;
  body: string | Buffer;
  headers?: Readonly<Record<string, string>>;
  /** Called when the response was sent or given up. */
  sent?(): void;
}

/** Renders a page for a request with these headers. */
export type WebPage = (headers: IncomingHttpHeaders) => PlainAnswer | Promise<PlainAnswer>;

export const JSON_TYPE = 'application/json; charset=utf-8';

export function jsonAnswer(status: number, value: object): PlainAnswer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value) };
}

/** Reports that the process responds. */
export function livezPage(): PlainAnswer {
  return jsonAnswer(200, { status: 'live' });
}

/** Returns the readiness; a failed check counts as unavailable. */
export async function readinessNow({ readiness, isStopping }: ReadinessSource): Promise<Readiness> {
  if (isStopping()) return { status: 'stopping', reasons: ['the service is stopping'] };
  return readiness().catch(() => ({ status: 'unavailable', reasons: ['the readiness check failed'] }));
}

/**
 * Reports whether load balancers should send requests to this process. Only the operator's token
 * gets the reasons, since they say what is broken.
 */
export async function readyzPage(
  source: ReadinessSource,
  { authorization }: IncomingHttpHeaders,
  adminToken: string | null,
): Promise<PlainAnswer> {
  const { status, reasons } = await readinessNow(source);
  if (status === 'ready') return jsonAnswer(200, { status });
  return jsonAnswer(503, isOperatorHeader(authorization, adminToken) ? { status, reasons } : { status });
}

/** Returns metrics for Prometheus; `refresh` updates those that are computed on demand. */
export async function metricsPage(parts: { metrics: Metrics; refresh(): Promise<void> }): Promise<PlainAnswer> {
  await parts.refresh();
  const { registry } = parts.metrics;
  return { status: 200, type: registry.contentType, body: await registry.metrics() };
}
