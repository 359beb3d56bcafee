/** What is wrong with the head of a request whatever it asks for. */
import type { IncomingMessage } from 'node:http';
import { ProvecError } from '../../lib/errors.ts';

/** Node takes the first; a proxy before the service may have looked at another. */
const ONCE = ['Host', 'Authorization'];

/** Null where nothing is. */
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
 * Whether another reader of the same bytes might see other requests in them: Node's parser looks at
 * the last transfer coding alone.
 */
export const isFramedOtherwise = ({ headers }: IncomingMessage): boolean =>
  (headers['transfer-encoding']?.trim().toLowerCase() ?? 'chunked') !== 'chunked';

export const OTHER_CODING = new ProvecError(
  'INVALID_ARGUMENT',
  'Provec supports only "Transfer-Encoding: chunked"; send the body without another encoding.',
);
