import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the endpoint does with its next requests. */
export type Mood = (request: IncomingMessage, response: ServerResponse, texts: string[]) => void;

/** Returns the vector of a text: its length, and its first letters. */
export function vectorOf(text: string, dimensions: number): number[] {
  return Array.from({ length: dimensions }, (_, at) =>
    at === 0 ? text.length : (text.codePointAt(at - 1) ?? 0) / 128,
  );
}

/** Sends vectors as OpenAI does, in another order than the texts. */
export const answerWith = (response: ServerResponse, vectors: unknown[]): void => {
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).reverse();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ object: 'list', data, model: 'test', usage: { prompt_tokens: 1, total_tokens: 1 } }));
};

/** A local server with the shape of OpenAI's `/v1/embeddings`. */
export class EmbeddingsServer {
  readonly url: string;
  /** Bodies and headers of all requests. */
  readonly asked: { body: Record<string, unknown>; authorization: string | undefined }[] = [];
  /** Number of requests that clients gave up. */
  aborted = 0;
  mood: Mood;
  readonly #server: Server;

  private constructor(server: Server, url: string, mood: Mood) {
    this.#server = server;
    this.url = url;
    this.mood = mood;
  }

  /** Starts a server that gives every text a vector of `dimensions` numbers. */
  static async start(dimensions: number): Promise<EmbeddingsServer> {
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const body = JSON.parse(text) as { input: string[] };
      started.asked.push({ body, authorization: request.headers.authorization });
      response.on('close', () => {
        if (!response.writableFinished) started.aborted++;
      });
      started.mood(request, response, body.input);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/embeddings`;
    const started = new EmbeddingsServer(server, url, (_, response, texts) =>
      answerWith(
        response,
        texts.map((each) => vectorOf(each, dimensions)),
      ),
    );
    return started;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
