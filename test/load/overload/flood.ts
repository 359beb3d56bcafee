import { Agent, request } from 'node:http';
import { DIMENSIONS } from './gated-service.ts';

export interface FloodAnswer {
  status: number;
  retryAfter: string | undefined;
  code: string | undefined;
}

/** Sends requests of one tenant, each as soon as a connection is free, and keeps the responses. */
export class Flood {
  readonly answers: FloodAnswer[] = [];
  readonly #url: string;
  readonly #secret: string;
  readonly #agent: Agent;
  readonly #inFlight = new Set<Promise<void>>();
  #ended = false;

  constructor(url: string, secret: string, connections: number) {
    this.#url = url;
    this.#secret = secret;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  count(status: number): number {
    return this.answers.filter((answer) => answer.status === status).length;
  }

  send(path: string, body: string): Promise<FloodAnswer> {
    const answer = new Promise<FloodAnswer>((resolve, reject) => {
      const sent = request(`${this.#url}/api/v1/collections/docs/${path}`, {
        agent: this.#agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#secret}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { code } = JSON.parse(text) as { code?: string };
          resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'], code });
        });
      });
      sent.end(body);
    });
    const noted = answer.then(
      (each) => void this.answers.push(each),
      () => undefined,
    );
    this.#inFlight.add(noted);
    void noted.then(() => this.#inFlight.delete(noted));
    return answer;
  }

  /** Keeps `lanes` requests in flight until `end`. */
  keepSending(lanes: number, path: string, body: string): void {
    const lane = async () => {
      while (!this.#ended) await this.send(path, body).catch(() => undefined);
    };
    for (let at = 0; at < lanes; at++) void lane();
  }

  /** Stops sending, and waits for the responses in flight. */
  async end(): Promise<void> {
    this.#ended = true;
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
    this.#agent.destroy();
  }

  /** Closes every connection. */
  cut(): void {
    this.#ended = true;
    this.#agent.destroy();
  }
}

const VECTOR = Array.from({ length: DIMENSIONS }, (_, at) => at + 1);

export const LIGHT_QUERY = JSON.stringify({ vector: VECTOR, topK: 1 });
/** Takes as long as the gate decides, and one permit. */
export const HEAVY_QUERY = JSON.stringify({ vector: VECTOR, topK: 100, exact: true });

/** An upsert of about `bytes`. */
export function upsertOf(records: number, bytes = 0): string {
  const text = JSON.stringify({
    records: Array.from({ length: records }, (_, at) => ({ id: `r${at}`, values: VECTOR })),
  });
  return text.padEnd(bytes);
}
