import { parseJson } from '../../lib/json/text.ts';

/** A response of the API. The body is parsed JSON, or text if it is not JSON. */
export interface Answer<T> {
  status: number;
  body: T;
  headers: Headers;
}

export type Api = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => Promise<Answer<T>>;

/**
 * Calls `<url>/api/v1<path>` with a key. A service's URL is read before each call, because it
 * changes when the service restarts.
 */
export function apiClient(at: string | { readonly url: string }, key: string): Api {
  return async <T>(method: string, path: string, body?: unknown) => {
    const url = typeof at === 'string' ? at : at.url;
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return { status: response.status, body: (isJson ? parseJson(text) : text) as T, headers: response.headers };
  };
}
