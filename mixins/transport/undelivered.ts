import { Errors, type Transporters } from 'moleculer';
import { MessageTooLarge } from './message-channel.ts';
import { NobodyListens } from './outbound-messages.ts';
import { LinkLost } from './redis-link.ts';

export type Packet = Parameters<Transporters.Base['prepublish']>[0];

/**
 * What a packet's sender is told when it was not, or not surely, delivered: an error that
 * Moleculer's callers know, of the kind that may be tried again.
 */
export function undelivered(packet: Packet, cause: unknown): Error {
  const { type, target, payload } = packet;
  const error =
    cause instanceof MessageTooLarge
      ? new Errors.MoleculerError(cause.message, 500, 'MESSAGE_TOO_LARGE')
      : cause instanceof LinkLost
        ? new Errors.BrokerDisconnectedError('')
        : isRefused(cause)
          ? new Errors.ServiceNotAvailableError({ action: payload?.action ?? type, nodeID: target })
          : new Errors.RequestRejectedError({ action: payload?.action ?? type, nodeID: target });
  error.cause = cause;
  return error;
}

/**
 * Whether nothing was or will be done of a call that failed with this error: it may go to another
 * node.
 */
export function isUnsent({ name }: Error): boolean {
  return name === 'ServiceNotFoundError' || name === 'ServiceNotAvailableError';
}

/** Whether no process takes what is sent there, so that nothing was. */
function isRefused(cause: unknown): boolean {
  if (cause instanceof NobodyListens) return true;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/**
 * The packet that goes in place of an answer that could not be sent, so that its caller does not
 * wait in vain; null for any other packet, and where the caller's node is gone.
 */
export function failedAnswer(packet: Packet, { broker, transit }: Transporters.Base, cause: unknown): Packet | null {
  const { type, target, payload } = packet;
  const isThere = target !== undefined && broker.registry.nodes.get(target)?.available === true;
  if (type !== 'RES' || payload.success !== true || !isThere) return null;
  const { id, meta } = payload;
  const error = transit.errorRegenerator.extractPlainError(cause as Error, payload);
  return { type, target, payload: { id, meta, success: false, data: null, error } };
}
