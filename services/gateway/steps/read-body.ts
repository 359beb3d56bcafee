import type { IncomingMessage } from 'node:http';
import type { MemoryBudget, MemoryHold } from '../../../lib/admission/memory-budget.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { GrowingBytes } from '../bodies/growing-bytes.ts';
import { ClientGoneError } from '../client-gone.ts';
import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

const UTF8_PARAMETER = /^charset\s*=\s*"?utf-?8"?$/;
/** Means nothing to JSON. */
const OTHER_PARAMETER = /^(?!charset)[^\s=]+=/;

/**
 * Split rather than matched as a whole: a pattern with several runs of blanks takes quadratic time
 * on a header full of them.
 */
function isInUtf8(type: string, essences: readonly string[]): boolean {
  const [essence, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  return (
    essences.includes(essence!) &&
    parameters.every(
      (parameter) => parameter === '' || UTF8_PARAMETER.test(parameter) || OTHER_PARAMETER.test(parameter),
    )
  );
}

/**
 * Throws UNSUPPORTED_MEDIA_TYPE for a body that says it is none of `essences`, of which the first
 * is the one to send, or is compressed. One that says nothing is taken for what it must be.
 */
export function refuseMediaType({ headers }: IncomingMessage, essences: readonly string[], what: string): void {
  const type = headers['content-type'];
  if (type !== undefined && !isInUtf8(type, essences)) {
    throw new ProvecError(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body must be ${what} in UTF-8; send it with "Content-Type: ${essences[0]}".`,
    );
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new ProvecError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Provec takes no compressed bodies; send the body as it is, without Content-Encoding.',
    );
  }
}

const tooLarge = (maxBytes: number) =>
  new ProvecError('BODY_TOO_LARGE', `The body is larger than ${maxBytes} bytes; send it in several requests.`);

/** Reads the body, before the request takes a permit: a slow sender holds up nobody else. */
export async function readBody(exchange: Exchange, { config, overload }: StepParts): Promise<void> {
  exchange.bytes = await bodyOf(exchange, config.limits.bodyMaxBytes, overload.bodies);
  if (exchange.res.destroyed) throw new ClientGoneError();
}

/**
 * The body's bytes, in an ArrayBuffer that is nobody else's. What came of them is held as
 * `exchange.bodyMemory`. Throws UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE as soon as that is known,
 * UNAVAILABLE when too much is on its way, ClientGoneError.
 */
export async function bodyOf(
  exchange: Exchange,
  maxBytes: number,
  budget: MemoryBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  const { accountId, req, res } = exchange;
  if (!exchange.hasBody) return new Uint8Array(0);
  refuseMediaType(req, ['application/json'], 'JSON');
  const declared = exchange.declaredBytes;
  if (declared > maxBytes) throw tooLarge(maxBytes);
  // What is only announced takes nothing from others.
  budget.expect(accountId, declared);
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    res.writeContinue();
  }
  const body = new GrowingBytes(declared > 0 ? declared : maxBytes);
  exchange.bodyMemory = budget.take(accountId, 0);
  await eachChunk(req, exchange.bodyMemory, (chunk) => {
    if (!body.add(chunk)) throw tooLarge(maxBytes);
  });
  return body.bytes;
}

/**
 * Hands every chunk to `take` and has `hold` hold all that came; when either throws, reading stops
 * and nothing is held.
 */
function eachChunk(req: IncomingMessage, hold: MemoryHold, take: (chunk: Uint8Array) => void): Promise<void> {
  let heldBytes = 0;
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      finish();
    };
    const fail = (error: unknown) => {
      req.pause();
      hold.release();
      settle(() => reject(error));
    };
    const onData = (chunk: Buffer) => {
      try {
        heldBytes += chunk.byteLength;
        hold.resize(heldBytes);
        take(chunk);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = () => settle(resolve);
    const onGone = () => fail(new ClientGoneError());
    req.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    if (req.destroyed) onGone();
  });
}
