import { AssertionError } from 'node:assert';
import { ProvecError } from '../../../lib/errors.ts';
import type { WorkerFault } from './protocol.ts';

/** Converts a thrown error to a form that a message can carry. */
export function workerFaultOf(error: unknown): WorkerFault {
  if (error instanceof ProvecError) return { code: error.code, message: error.message, details: error.details };
  return { code: null, message: describeThrown(error), isFailedAssertion: error instanceof AssertionError };
}

/** Describes a thrown value as text for the log. */
export function describeThrown(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
