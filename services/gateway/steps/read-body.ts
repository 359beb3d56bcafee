import type { IncomingMessage } from 'node:http';
import type { MemoryBudget, MemoryHold } from '../../../lib/admission/memory-budget.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { GrowingBytes } from '../bodies/growing-bytes.ts';
import { pacedBody, SENDING_PACE } from '../bodies/sending-pace.ts';
import { ClientGoneError } from '../client-gone.ts';
import { type BodyCoding, bodyCoding, decodedBody, decoderBytes } from '../codings/decoded-body.ts';
import type { RequestContext } from '../request-context.ts';
import type { StepParts } from './step.ts';

const UTF8_PARAMETER = /^charset\s*=\s*"?utf-?8"?$/;
/** Any parameter but `charset`. JSON defines none, so it is ignored. */
const OTHER_PARAMETER = /^(?!charset)[^\s=]+=/;

/**
 * Splits the header instead of matching it as a whole: a pattern with several runs of blanks takes
 * quadratic time on a header full of them.
 */
function isInUtf8(type: string, essences: readonly string[]): boolean {
  const [essence = '', ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  return (
    essences.includes(essence) &&
    parameters.every(
      (parameter) => parameter === '' || UTF8_PARAMETER.test(parameter) || OTHER_PARAMETER.test(parameter),
    )
  );
}

/**
 * Throws UNSUPPORTED_MEDIA_TYPE for a body whose type is not among `essences`, of which the first
 * is recommended. Accepts a body without a Content-Type.
 */
export function refuseMediaType({ headers }: IncomingMessage, essences: readonly string[], what: string): void {
  const type = headers['content-type'];
  if (type !== undefined && !isInUtf8(type, essences)) {
    throw new ProvecError(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body must be ${what} in UTF-8; send it with "Content-Type: ${essences[0]}".`,
    );
  }
}

const tooLarge = (maxBytes: number) =>
  new ProvecError('BODY_TOO_LARGE', `The body is larger than ${maxBytes} bytes; send it in several requests.`);

/** Reads the body. Comes before the permit, so that a slow sender blocks no other request. */
export async function readBody(request: RequestContext, { config, overload }: StepParts): Promise<void> {
  request.bytes = await bodyOf(request, config.limits.bodyMaxBytes, overload.bodies);
  request.bodyBytes = request.bytes.byteLength;
  if (request.res.destroyed) throw new ClientGoneError();
}

/**
 * Returns the body in an ArrayBuffer of its own, decompressed. `request.bodyMemory` holds what has
 * arrived. Throws UNSUPPORTED_MEDIA_TYPE, INVALID_ARGUMENT if it cannot be decompressed,
 * BODY_TOO_LARGE as early as possible, UNAVAILABLE if bodies take too much memory, or
 * ClientGoneError.
 */
export async function bodyOf(
  request: RequestContext,
  maxBytes: number,
  budget: MemoryBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  const { accountId, req, res } = request;
  if (!request.hasBody) return new Uint8Array(0);
  refuseMediaType(req, ['application/json'], 'JSON');
  const coding = bodyCoding(req);
  const declared = request.declaredBytes;
  if (declared > maxBytes) throw tooLarge(maxBytes);
  // The declared length is checked but not reserved; only received bytes count.
  budget.expect(accountId, declared);
  if (request.awaitsContinue) {
    request.awaitsContinue = false;
    res.writeContinue();
  }
  const body = new GrowingBytes(declared > 0 && coding === null ? declared : maxBytes);
  const memory = budget.take(accountId, 0);
  request.bodyMemory = memory;
  const take = (chunk: Uint8Array): void => {
    if (!body.add(chunk)) throw tooLarge(maxBytes);
  };
  if (coding === null) await eachChunk(req, memory, take);
  else await eachDecoded(req, coding, memory, take);
  return body.bytes;
}

/**
 * Passes every chunk to `take`, with all received bytes reserved in `hold`. If either throws, stops
 * reading and releases the memory.
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

/** Like `eachChunk`, for a compressed body: passes and reserves its content. */
async function eachDecoded(
  req: IncomingMessage,
  coding: BodyCoding,
  hold: MemoryHold,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  let contentBytes = 0;
  try {
    hold.resize(decoderBytes(coding));
    for await (const chunk of decodedBody(pacedBody(req, SENDING_PACE), coding)) {
      contentBytes += chunk.byteLength;
      hold.resize(decoderBytes(coding) + contentBytes);
      take(chunk);
    }
    hold.resize(contentBytes);
  } catch (error) {
    req.pause();
    hold.release();
    throw error;
  }
}
