import type { Metrics } from '../metrics.ts';

/**
 * Whether the service can serve, and if not, why (a few words each, no names of what tenants own).
 */
export interface Readiness {
  ready: boolean;
  reasons: string[];
}

/** An answer outside the API: no authentication, nothing of any tenant. */
export interface PlainAnswer {
  status: number;
  type: string;
  body: string | Buffer;
  headers?: Readonly<Record<string, string>>;
  /** Called once the answer is sent, or will not be. */
  sent?(): void;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

export function jsonAnswer(status: number, value: object): PlainAnswer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value) };
}

/** That the process runs and answers. */
export function livezPage(): PlainAnswer {
  return jsonAnswer(200, { status: 'live' });
}

/** Whether requests should be sent here. */
export async function readyzPage(parts: {
  readiness(): Promise<Readiness>;
  isStopping(): boolean;
}): Promise<PlainAnswer> {
  if (parts.isStopping()) return jsonAnswer(503, { status: 'stopping', reasons: ['the service is stopping'] });
  const { ready, reasons } = await parts
    .readiness()
    .catch(() => ({ ready: false, reasons: ['readiness cannot be told'] }));
  return ready ? jsonAnswer(200, { status: 'ready' }) : jsonAnswer(503, { status: 'starting', reasons });
}

/** The process's numbers, for Prometheus; `refresh` sets those that are asked for. */
export async function metricsPage(parts: { metrics: Metrics; refresh(): Promise<void> }): Promise<PlainAnswer> {
  await parts.refresh();
  const { registry } = parts.metrics;
  return { status: 200, type: registry.contentType, body: await registry.metrics() };
}
