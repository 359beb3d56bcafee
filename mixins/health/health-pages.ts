import type { Metrics } from '../metrics.ts';

/** Whether the service can handle requests; `reasons` are short and free of tenant data. */
export interface Readiness {
  ready: boolean;
  reasons: string[];
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

export const JSON_TYPE = 'application/json; charset=utf-8';

export function jsonAnswer(status: number, value: object): PlainAnswer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value) };
}

/** Reports that the process responds. */
export function livezPage(): PlainAnswer {
  return jsonAnswer(200, { status: 'live' });
}

/** Reports whether load balancers should send requests to this process. */
export async function readyzPage(parts: {
  readiness(): Promise<Readiness>;
  isStopping(): boolean;
}): Promise<PlainAnswer> {
  if (parts.isStopping()) return jsonAnswer(503, { status: 'stopping', reasons: ['the service is stopping'] });
  const { ready, reasons } = await parts
    .readiness()
    .catch(() => ({ ready: false, reasons: ['the readiness check failed'] }));
  return ready ? jsonAnswer(200, { status: 'ready' }) : jsonAnswer(503, { status: 'starting', reasons });
}

/** Returns metrics for Prometheus; `refresh` updates those that are computed on demand. */
export async function metricsPage(parts: { metrics: Metrics; refresh(): Promise<void> }): Promise<PlainAnswer> {
  await parts.refresh();
  const { registry } = parts.metrics;
  return { status: 200, type: registry.contentType, body: await registry.metrics() };
}
