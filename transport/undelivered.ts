import { Errors, type Transporters } from 'moleculer';
import { MessageTooLarge } from './message-channel.ts';
import { NoReceiver } from './outbound-messages.ts';
import { LinkLost } from './redis-link.ts';

export type Packet = Parameters<Transporters.Base['prepublish']>[0];

/** Converts a failed delivery into the Moleculer error for the packet's sender. */
export function deliveryErrorFor(packet: Packet, cause: unknown): Error {
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

/** Whether a call with this error did not and will not run, so that it may go to another node. */
export function isUnsent({ name }: Error): boolean {
  return name === 'ServiceNotFoundError' || name === 'ServiceNotAvailableError';
}

/** Whether no process listens at the target, so that nothing was sent. */
function isRefused(cause: unknown): boolean {
  if (cause instanceof NoReceiver) return true;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/**
 * Returns the error packet to send instead of a response that could not be sent. Null for other
 * packets, or if the caller's node is gone.
 */
export function failureResponse(packet: Packet, { broker, transit }: Transporters.Base, cause: unknown): Packet | null {
  const { type, target, payload } = packet;
  const isThere = target !== undefined && broker.registry.nodes.get(target)?.available === true;
  if (type !== 'RES' || payload.success !== true || !isThere) return null;
  const { id, meta } = payload;
  const error = transit.errorRegenerator.extractPlainError(cause as Error, payload);
  return { type, target, payload: { id, meta, success: false, data: null, error } };
}
