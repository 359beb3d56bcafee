import type { RpcTransport } from '@solana/web3.js';

/** About four times the longest answer that is asked for: the statuses of 256 transactions. */
const ANSWER_MAX_BYTES = 256 * 1024;

/** What an endpoint did that no node of the ledger does; the message names no URL. */
export class EndpointError extends Error {
  override name = 'EndpointError';
}

/**
 * JSON-RPC over HTTP as web3.js does it by itself, but that an endpoint is believed in less: an
 * answer has a bound, and is not looked for elsewhere, since a redirect would take the question,
 * and the choice of who answers, out of the operator's hands.
 */
export function httpTransport(url: string): RpcTransport {
  // By its type it answers whatever is asked for: nobody looks at the shape, here as little as in
  // web3.js.
  return async <T>({ payload, signal }: Parameters<RpcTransport>[0]) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(payload),
      redirect: 'error',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new EndpointError(`The endpoint answered with HTTP status ${response.status}.`);
    }
    return parseWithBigints(await boundedText(response)) as T;
  };
}

/** Leaving the loop ends the connection. What counts is what has been unpacked. */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_MAX_BYTES)
      throw new EndpointError(`The endpoint's answer has more than ${ANSWER_MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Whole numbers become bigints without having been numbers, which cannot hold all of them; web3.js
 * turns those back that it wants as numbers.
 */
function parseWithBigints(text: string): unknown {
  const reviver: Reviver = (_, value, { source }) =>
    source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

/**
 * With what stood in the text for a primitive value (ES2026), which the compiler's types do not
 * know yet.
 */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
