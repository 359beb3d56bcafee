import { expect } from '@jest/globals';
import type { ApiDocument, ApiOperation, Json } from './api-document.ts';
import type { RawAnswer } from './raw-request.ts';

/** Path parameters of a call, its query string and its token. */
type Into = Json & { search?: string; token?: string };
type Send = (method: string, path: string, token: string | undefined, body?: object) => Promise<RawAnswer>;

/** Calls operations of a document, and checks requests and responses against it. */
export class DocumentedCalls {
  /** Operations that succeeded, as `GET /path`. */
  readonly succeeded = new Set<string>();
  readonly #document: ApiDocument;
  readonly #send: Send;

  constructor(document: ApiDocument, send: Send) {
    this.#document = document;
    this.#send = send;
  }

  operationOf(name: string): ApiOperation {
    const [method, pattern] = name.split(' ');
    return this.#document.json.paths[pattern][method.toLowerCase()];
  }

  /** Returns the response body, or an empty object if it is not JSON. */
  async call(name: string, status: number, into: Into = {}, body?: object): Promise<Json> {
    const [method, pattern] = name.split(' ');
    const operation = this.operationOf(name);
    const path = pattern.replaceAll(/\{(\w+)\}/g, (_, parameter) => encodeURIComponent(into[parameter] as string));
    const answer = await this.#send(method, path + (into.search ?? ''), into.token, body);
    expect([name, body, answer.status]).toEqual([name, body, status]);
    expect([name, Object.keys(operation.responses)]).toEqual([name, expect.arrayContaining([`${status}`])]);
    if (body !== undefined && status < 300)
      expect([name, this.#document.faultsOf(operation.requestBody, body)]).toEqual([name, []]);
    if (status < 300) this.succeeded.add(name);
    const { content } = operation.responses[status];
    if (content === undefined) {
      expect([name, answer.text]).toEqual([name, '']);
      return {};
    }
    const type = answer.headers['content-type']!.split(';')[0];
    expect(Object.keys(content)).toContain(type);
    if (type !== 'application/json') return {};
    const json = JSON.parse(answer.text) as Json;
    expect([name, status, this.#document.faultsOf({ content }, json)]).toEqual([name, status, []]);
    return json;
  }
}
