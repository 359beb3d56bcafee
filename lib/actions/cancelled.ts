import type { Caller } from './call.ts';

/** Why work is given up: nobody waits for it any more. */
export class Cancelled extends Error {
  override name = 'Cancelled';
  /** Whether the client went away before it had its answer; else its request has ended. */
  readonly isClientGone: boolean;

  constructor(isClientGone: boolean) {
    super(isClientGone ? 'the client closed the connection' : 'the request has ended');
    this.isClientGone = isClientGone;
  }
}

/** The signal among a call's options. */
export function signalOf(options: object): AbortSignal | undefined {
  return (options as { signal?: AbortSignal }).signal;
}

/** Makes calls that end with the call that `options` are of. */
export function endingWith(caller: Caller, options: object): Caller {
  const signal = signalOf(options);
  if (signal === undefined) return caller;
  return {
    ...(caller.meta !== undefined && { meta: caller.meta }),
    signal,
    call: (action, params, given) => caller.call(action, params, { signal, ...given }),
  };
}
