import { parseJson } from '../../lib/json/text.ts';

/** An answer of the API, with its body read as JSON; what is none stays text. */
export interface Answer<T> {
  status: number;
  body: T;
  headers: Headers;
}

export type Api = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => Promise<Answer<T>>;

/**
 * Calls `<url>/api/v1<path>` with a key, as clients do; a service is asked for its address each
 * time, which changes when it is started anew.
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
