/** Calls a service's `/api/v1`. On an error status it throws the service's message. */
export class ApiClient {
  #base: string;
  #key: string;

  constructor(url: string, key: string) {
    this.#base = `${url.replace(/\/$/, '')}/api/v1`;
    this.#key = key;
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.#base + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T & { error?: string };
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.error}`);
    return answer;
  }
}
