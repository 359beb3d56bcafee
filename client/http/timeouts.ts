import type { Operations } from '../api/generated.ts';

type OperationId = keyof Operations;

const TIMEOUT_MS = 90_000;
/** Exceptions, each longer than the service takes. Node's `fetch` waits at most 300,000 ms. */
const TIMEOUTS_MS: { readonly [K in OperationId]?: number } = {
  verifyCollection: 280_000,
  importRecords: Number.POSITIVE_INFINITY,
  moveShard: 280_000,
  resumeAnchoring: 280_000,
  drainNode: 120_000,
};

/** Returns the default timeout of an attempt, in ms. */
export const defaultTimeoutMs = (operation: OperationId): number => TIMEOUTS_MS[operation] ?? TIMEOUT_MS;
