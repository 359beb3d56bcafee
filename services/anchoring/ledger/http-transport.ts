import type { RpcTransport } from '@solana/web3.js';

/** Maximum response size, four times the longest one expected: 256 transaction statuses. */
const ANSWER_MAX_BYTES = 256 * 1024;

/** Endpoint behavior that no ledger node would show. The message contains no URL. */
export class EndpointError extends Error {
  override name = 'EndpointError';
}

/**
 * JSON-RPC over HTTP like web3.js's own transport, but with less trust in the endpoint: the
 * response size is limited, and redirects are refused, since they would let the endpoint choose who
 * answers.
 */
export function httpTransport(url: string): RpcTransport {
  // The type claims to match any request. Like web3.js, this function does not check the shape.
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

/** Reads a response. The limit counts decompressed bytes. */
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
 * Parses integers as bigints directly, since numbers cannot hold all of them. web3.js converts
 * those that it expects as numbers.
 */
function parseWithBigints(text: string): unknown {
  const reviver: Reviver = (_, value, { source }) =>
    source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

/** Reviver with the source text of a primitive (ES2026), missing in the compiler's types. */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
