/** Checks of the head of a request that apply to every route. */
import type { IncomingMessage } from 'node:http';
import { ProvecError } from '../../lib/errors.ts';

/** Headers that may appear only once: Node uses the first, a proxy may use another. */
const ONCE = ['Host', 'Authorization'];

/** Returns the error for an invalid head, or null if it is valid. */
export function headRefusal({ headers, headersDistinct, httpVersion }: IncomingMessage): ProvecError | null {
  const twice = ONCE.find((name) => (headersDistinct[name.toLowerCase()]?.length ?? 0) > 1);
  if (twice !== undefined)
    return new ProvecError('INVALID_ARGUMENT', `The request has more than one ${twice} header; send one.`);
  if (headers.host === undefined && httpVersion === '1.1')
    return new ProvecError('INVALID_ARGUMENT', 'The request has no Host header.');
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return new ProvecError('INVALID_ARGUMENT', 'Provec supports only "Expect: 100-continue"; leave the header out.');
  return null;
}

/**
 * Whether another HTTP parser might split the same bytes into different requests. Node's parser
 * looks only at the last transfer coding.
 */
export const hasAmbiguousFraming = ({ headers }: IncomingMessage): boolean =>
  (headers['transfer-encoding']?.trim().toLowerCase() ?? 'chunked') !== 'chunked';

export const UNSUPPORTED_TRANSFER_CODING = new ProvecError(
  'INVALID_ARGUMENT',
  'Provec supports only "Transfer-Encoding: chunked"; send the body without another encoding.',
);
