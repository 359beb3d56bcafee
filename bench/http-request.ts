import { type Agent, request } from 'node:http';

/** A service, and an API key for it. */
export interface Target {
  url: string;
  key: string;
  /** Path prefix of the API; default `/api/v1`. */
  dialect?: '/api/v1' | '/pinecone';
}

interface Answer {
  status: number;
  text: string;
}

/** Sends a request with or without a JSON body; returns status and text. */
export function sendRequest(
  method: string,
  url: string,
  agent: Agent,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, method, headers: { 'content-type': 'application/json', ...headers } });
    call.on('error', reject);
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString() }));
      response.on('error', reject);
    });
    call.end(body);
  });
}

/** Posts a JSON body to the API; returns status and text. */
export function post(target: Target, agent: Agent, path: string, body: string | Buffer): Promise<Answer> {
  const { url, key, dialect = '/api/v1' } = target;
  const headers: Record<string, string> =
    dialect === '/pinecone' ? { 'api-key': key } : { authorization: `Bearer ${key}` };
  return sendRequest('POST', `${url}${dialect}${path}`, agent, body, headers);
}
