import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers by method and path below /api/v1. A function gets the number of earlier requests. */
export type Answers = Record<string, object | ((earlier: number) => object | number)>;

/** A server that answers as a service would that is in a state which tests cannot bring about. */
export class AnsweringServer {
  /** Method, path and authorization of every request. */
  readonly asked: string[] = [];
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** Statuses stand for errors; requests without an answer get a 404. */
  static async start(answers: Answers): Promise<AnsweringServer> {
    const counts = new Map<string, number>();
    const server = createServer(({ method, url = '', headers }, response) => {
      const route = `${method} ${url.replace('/api/v1', '').replace(/\?.*/, '')}`;
      started.asked.push(`${route} ${headers.authorization}`);
      const earlier = counts.get(route) ?? 0;
      counts.set(route, earlier + 1);
      const { [route]: answer = 404 } = answers as Record<string, object | 404>;
      const body = typeof answer === 'function' ? answer(earlier) : answer;
      if (typeof body === 'object') response.end(JSON.stringify(body));
      else response.writeHead(body).end(JSON.stringify({ error: 'refused', code: codeOf(body), status: body }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const started = new AnsweringServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return started;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const codeOf = (status: number): string => (status === 404 ? 'COLLECTION_NOT_FOUND' : 'UNAVAILABLE');
