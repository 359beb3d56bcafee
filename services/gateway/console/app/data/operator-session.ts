import { useEffect, useState } from 'preact/hooks';
import { errorOf, UnauthenticatedError } from '../../../../../client/http/errors.ts';
import type { CallArguments, OperationId } from '../../../../../client/http/transport.ts';
import { MetricsPage } from '../../../../../client/metrics/metrics-page.ts';
import { boundedText } from '../../../../../client/verify/bounded-body.ts';
import { type AnswerOf, askWith, DEADLINE_MS, SERVICE_URL } from './service.ts';
import { currentSession, watchSession } from './session.ts';

/** What pages may know of the operator's token. None of them gets the token itself. */
export interface OperatorSession {
  hasToken: boolean;
  /** Why the last session ended; null if the operator ended it. */
  ended: 'refused' | null;
}

/** Operations that the service takes minutes for, and the deadline for them in ms. */
const SLOW: ReadonlySet<OperationId> = new Set(['moveShard', 'drainNode', 'resumeAnchoring', 'deleteAccount']);
const SLOW_DEADLINE_MS = 290_000;
const METRICS_MAX_BYTES = 16 * 1024 * 1024;

/** The token, in the memory of this page alone: no storage, no address and no log has it. */
let token: string | null = null;
let ended: OperatorSession['ended'] = null;
const listeners = new Set<() => void>();

function change(next: string | null, reason: OperatorSession['ended']): void {
  [token, ended] = [next, reason];
  for (const listener of listeners) listener();
}

/** Keeps a token that the service accepts. Rejects, and keeps none, if it does not. */
export async function beginOperatorSession(given: string, signal: AbortSignal): Promise<void> {
  await askWith(given, 'listAccounts', { query: { limit: 1 } }, signal);
  change(given, null);
}

/** Forgets the token; `reason` says whether the service refused it. */
export function endOperatorSession(reason: OperatorSession['ended']): void {
  if (token !== null) change(null, reason);
}

/** Signing out ends everything that this tab may do. */
let hadKey = currentSession().key !== null;
watchSession(() => {
  const { key, ended: why } = currentSession();
  if (hadKey && key === null && why === null) endOperatorSession(null);
  hadKey = key !== null;
});

/**
 * Calls an operation with the operator's token. Rejects like `ask`. Ends the operator's session if
 * the service no longer accepts the token.
 */
export function askOperator<K extends OperationId>(
  operation: K,
  call: CallArguments<K>,
  signal?: AbortSignal,
): Promise<AnswerOf<K>> {
  const deadlineMs = SLOW.has(operation) ? SLOW_DEADLINE_MS : DEADLINE_MS;
  return withToken((held) => askWith(held, operation, call, signal, { deadlineMs }));
}

/** Returns the metrics of the gateway that answers. Rejects with an APIStatusError. */
export function readMetrics(signal: AbortSignal): Promise<MetricsPage> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
  return withHeldToken(async (held) => {
    const headers = { authorization: `Bearer ${held}` };
    const response = await fetch(`${SERVICE_URL}/metrics`, { headers, signal: limited, redirect: 'error' });
    const text = await boundedText(response, METRICS_MAX_BYTES, limited);
    if (!response.ok || text === null) throw errorOf(response, text);
    return new MetricsPage(text);
  });
}

function withHeldToken<T>(act: (held: string) => Promise<T>): Promise<T> {
  if (token === null) return Promise.reject(new DOMException('There is no token.', 'AbortError'));
  return act(token);
}

const withToken = <T>(act: (held: string) => Promise<T>): Promise<T> =>
  withHeldToken(async (held) => {
    try {
      return await act(held);
    } catch (error) {
      if (error instanceof UnauthenticatedError && token === held) endOperatorSession('refused');
      throw error;
    }
  });

/** Returns the operator's session, and renders again when it changes. */
export function useOperatorSession(): OperatorSession {
  const [, render] = useState(0);
  useEffect(() => {
    const listener = () => render((count) => count + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return { hasToken: token !== null, ended };
}
