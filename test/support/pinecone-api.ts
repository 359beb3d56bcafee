import type { Answer } from './api-client.ts';

export type PineconeApi = <T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
) => Promise<Answer<T>>;

/** Calls `<url>/pinecone<path>` as Pinecone's clients do. */
export function pineconeApi(url: string, key: string | null, headers: Record<string, string> = {}): PineconeApi {
  return async <T>(method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/pinecone${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { 'api-key': key }),
        'x-pinecone-api-version': '2025-10, 2025-10',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T, headers: response.headers };
  };
}
