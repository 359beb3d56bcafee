import { APIConnectionError } from '../../client/http/errors.ts';
import { MetricsPage } from '../../client/metrics/metrics-page.ts';
import { boundedText } from '../../client/verify/bounded-body.ts';

const PAGE_MAX_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

/** Returns the metrics of the gateway that answers at an address. Rejects with a ProvecError. */
export async function readMetrics(url: string, token: string | null, signal: AbortSignal): Promise<MetricsPage> {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/metrics`, { headers, signal: limited, redirect: 'error' });
    const text = response.ok ? await boundedText(response, PAGE_MAX_BYTES, limited) : null;
    if (text !== null) return new MetricsPage(text);
    throw new Error(response.ok ? 'its page is too large' : `HTTP status ${response.status}`);
  } catch (error) {
    signal.throwIfAborted();
    throw new APIConnectionError(`${url} shows no metrics: ${(error as Error).message}`, { cause: error });
  }
}
