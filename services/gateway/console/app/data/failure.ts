import { APIConnectionError, APIStatusError } from '../../../../../client/http/errors.ts';

/** A failed request in words. */
export interface Failure {
  /** `refused`: the key is unknown or may not do it; a retry does not help. */
  kind: 'refused' | 'missing' | 'invalid' | 'busy' | 'unreachable' | 'fault';
  title: string;
  text: string;
  /** What to quote when asking for help. */
  requestId: string | null;
  code: string | null;
}

const KINDS: Readonly<Record<number, readonly [kind: Failure['kind'], title: string]>> = {
  401: ['refused', 'This key is not accepted'],
  403: ['refused', 'This key may not do that'],
  404: ['missing', 'Not found'],
  429: ['busy', 'Too much at once'],
  503: ['busy', 'The service is busy'],
  507: ['busy', 'The service has no room left'],
};

/** Returns what a reader needs to know about a failed request; null if it was called off. */
export function failureOf(error: unknown): Failure | null {
  const none = { requestId: null, code: null };
  if (error instanceof APIStatusError) {
    const { status, message, requestId, code } = error;
    const [kind, title] =
      KINDS[status] ?? (status < 500 ? ['invalid', 'Not accepted'] : ['fault', 'The service failed']);
    return { kind, title, text: message, requestId, code };
  }
  if (error instanceof DOMException && error.name === 'AbortError') return null;
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return { kind: 'unreachable', title: 'No answer', text: 'The service did not answer in time.', ...none };
  if (error instanceof APIConnectionError)
    return {
      kind: 'unreachable',
      title: 'The service cannot be reached',
      text: 'It may be restarting, or the network is down. Nothing on this page is lost.',
      ...none,
    };
  return {
    kind: 'fault',
    title: 'The console failed',
    text: error instanceof Error ? error.message : `${error}`,
    ...none,
  };
}
