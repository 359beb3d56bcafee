import type { Caller } from './call.ts';

/** Abort reason of work whose result is no longer needed. */
export class Cancelled extends Error {
  override name = 'Cancelled';
  /** True if the client disconnected before it got its response; false if the request has ended. */
  readonly isClientGone: boolean;

  constructor(isClientGone: boolean) {
    super(isClientGone ? 'the client closed the connection' : 'the request has ended');
    this.isClientGone = isClientGone;
  }
}

export function signalOf(options: object): AbortSignal | undefined {
  return (options as { signal?: AbortSignal }).signal;
}

/** Returns a caller whose calls are aborted together with the call that `options` belong to. */
export function abortingWith(caller: Caller, options: object): Caller {
  const signal = signalOf(options);
  if (signal === undefined) return caller;
  return {
    ...(caller.meta !== undefined && { meta: caller.meta }),
    signal,
    call: (action, params, given) => caller.call(action, params, { signal, ...given }),
  };
}
