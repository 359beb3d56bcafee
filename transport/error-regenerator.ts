import { Errors } from 'moleculer';
import type { Logger } from 'pino';
import { Cancelled } from '../contracts/actions/cancelled.ts';
import { ERROR_TABLE, type ErrorCode, type ErrorDetail, type ErrorExtras, ProvecError } from '../lib/errors.ts';
import { ShardMoved } from '../lib/shard/moved.ts';
import { STORE_ERROR_KINDS, StoreError } from '../store/port.ts';

/** An error as thrown, or as sent from one node to another. */
type PlainError = Record<string, unknown> & { name: string; message: string };

/** Data of Moleculer's own errors. Any other field may contain a caller's parameters. */
const HARMLESS_DATA = ['action', 'nodeID', 'service', 'version', 'event', 'size', 'limit', 'level', 'name'];

const FOREIGN_MESSAGE = 'An action failed on another node, whose log says why.';

/**
 * Sends errors between nodes: the caller gets the class that was thrown, wherever the action ran.
 *
 * ProvecError, StoreError, ShardMoved and Moleculer's errors keep the fields that callers use. Of
 * any other error only the class name is sent; the node that threw it logs it. Stacks, causes and
 * parameters are never sent.
 */
export class ErrorRegenerator extends Errors.Regenerator {
  readonly #log: Logger;

  constructor(log: Logger) {
    super();
    this.#log = log;
  }

  override extractPlainError(thrown: PlainError): Errors.PlainMoleculerError {
    return this.#carried(thrown) as unknown as Errors.PlainMoleculerError;
  }

  override restore(plain: Errors.PlainMoleculerError, payload: Record<string, unknown>): Error {
    const carried = plain as unknown as PlainError;
    if (carried.name === 'ProvecError') return restoreProvecError(carried);
    if (carried.name === 'StoreError') return restoreStoreError(carried);
    if (carried.name === 'ShardMoved') return new ShardMoved(typeof carried.node === 'string' ? carried.node : null);
    if (carried.name === 'BrokerDisconnectedError') return new Errors.BrokerDisconnectedError('');
    return super.restore(plain, payload);
  }

  #carried(thrown: PlainError): PlainError {
    const { name, message } = thrown;
    const nodeID = typeof thrown.nodeID === 'string' ? thrown.nodeID : this.#nodeID();
    if (thrown instanceof ProvecError) {
      if (thrown.cause !== undefined) this.#log.warn({ err: thrown }, 'an action failed for another node');
      const { code, details, retryAfterSeconds, allow, shards } = thrown;
      return { name, message, nodeID, code, details, retryAfterSeconds, allow, shards };
    }
    if (thrown instanceof StoreError) {
      this.#log.warn({ err: thrown }, 'an action failed for another node');
      return { name, message, nodeID, kind: thrown.kind };
    }
    if (thrown instanceof ShardMoved) return { name, message, nodeID, node: thrown.node };
    // The caller has given up, so name and message suffice.
    if (thrown instanceof Cancelled) return { name, message, nodeID };
    if (thrown instanceof Errors.MoleculerError && name in Errors) {
      const { code, type, retryable, data } = thrown;
      return { name, message, nodeID, code, type, retryable, data: harmlessData(data) };
    }
    this.#log.error({ err: thrown }, 'an action failed for another node');
    const isName = /^[A-Za-z_$][\w$]{0,63}$/.test(name);
    return { name: isName ? name : 'Error', message: FOREIGN_MESSAGE, nodeID };
  }

  #nodeID(): string {
    return (this as unknown as { broker: { nodeID: string } }).broker.nodeID;
  }
}

function restoreProvecError({ message, code, details, retryAfterSeconds, allow, shards }: PlainError): ProvecError {
  const extras: ErrorExtras = {};
  if (Array.isArray(details)) extras.details = details as ErrorDetail[];
  if (typeof retryAfterSeconds === 'number') extras.retryAfterSeconds = retryAfterSeconds;
  if (Array.isArray(allow)) extras.allow = allow as string[];
  if (Array.isArray(shards)) extras.shards = shards as number[];
  // A node of another version may use a code that is unknown here.
  const known = Object.hasOwn(ERROR_TABLE, String(code)) ? (code as ErrorCode) : 'INTERNAL';
  return new ProvecError(known, message, extras);
}

/** An unknown kind becomes 'unknown', which makes no claim about what was stored. */
function restoreStoreError({ message, kind }: PlainError): StoreError {
  return new StoreError(STORE_ERROR_KINDS.find((known) => known === kind) ?? 'unknown', message);
}

function harmlessData(data: unknown): Record<string, unknown> {
  if (typeof data !== 'object' || data === null) return {};
  const entries = Object.entries(data).filter(([name, value]) => HARMLESS_DATA.includes(name) && isScalar(value));
  return Object.fromEntries(entries);
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || value === null;
}
