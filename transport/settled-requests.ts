import type { BrokerOptions, Context, Middleware, Service } from 'moleculer';

type Reject = (error: Error) => void;

/**
 * Settles calls to other nodes that have timed out.
 *
 * Moleculer forgets a timed-out request and leaves its promise pending. Its context would stay
 * among those that a graceful stop waits for, and every stop would take its full timeout.
 */
export class SettledRequests {
  readonly #rejects = new WeakMap<object, Reject>();

  readonly middleware: Middleware = {
    name: 'SettledRequests',
    remoteAction: (next) => {
      const rejects = this.#rejects;
      return function settled(this: Service, ctx: Context) {
        const { promise, resolve, reject } = Promise.withResolvers<unknown>();
        rejects.set(ctx, reject);
        next.call(this, ctx).then(resolve, reject);
        return promise;
      };
    },
  };

  /** The broker's `errorHandler`, which is called for every failed call. */
  readonly errorHandler: BrokerOptions['errorHandler'] = (error, info) => {
    if ('ctx' in info) this.#rejects.get(info.ctx)?.(error);
    throw error;
  };
}
