/**
 * Keeps requests of one tenant in flight until its standard input ends, then prints the number of
 * responses by status. Its argument is a `Noise` as JSON.
 */
import { Agent } from 'node:http';
import { sendRequest } from '../../../bench/http-request.ts';

export interface NoiseRequest {
  method: string;
  path: string;
  /** Sent as JSON. */
  body?: object;
}

export interface Noise {
  url: string;
  key: string;
  /** Number of requests in flight. */
  lanes: number;
  /** Sent in turn. A list with a next page is read to its end. */
  requests: NoiseRequest[];
}

const { url, key, lanes, requests } = JSON.parse(process.argv[2]!) as Noise;
const agent = new Agent({ keepAlive: true, maxSockets: lanes });
const answers: Record<number, number> = {};
let isOver = false;

async function send({ method, path, body }: NoiseRequest): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const { status, text } = await sendRequest(method, `${url}/api/v1${path}`, agent, sent, headers);
  answers[status] = (answers[status] ?? 0) + 1;
  return text;
}

async function walk(request: NoiseRequest): Promise<void> {
  for (let cursor: string | undefined = ''; cursor !== undefined && !isOver; ) {
    const { method, path } = request;
    const join = path.includes('?') ? '&' : '?';
    const text = await send(cursor === '' ? request : { method, path: `${path}${join}cursor=${cursor}` });
    cursor = /"nextCursor":"([^"]+)"/.exec(text)?.[1];
  }
}

async function lane(from: number): Promise<void> {
  for (let at = from; !isOver; at++) await walk(requests[at % requests.length]!);
}

process.stdin.resume().on('end', () => {
  isOver = true;
});
await Promise.all(Array.from({ length: lanes }, (_, from) => lane(from)));
console.log(JSON.stringify(answers));
agent.destroy();
