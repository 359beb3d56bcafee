import type { BrokerOptions, Context, Middleware, Service } from 'moleculer';

type Reject = (error: Error) => void;

/**
 * Settles a call to another node that nobody waits for any more.
 *
 * After a time-out Moleculer forgets the request and leaves its promise pending: the context, with
 * the call's parameters, would stay among those that a graceful stop waits for, and every stop
 * would take its whole time-out.
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

  /** The broker's `errorHandler`: told of every call that failed, whoever noticed. */
  readonly errorHandler: BrokerOptions['errorHandler'] = (error, info) => {
    if ('ctx' in info) this.#rejects.get(info.ctx)?.(error);
    throw error;
  };
}
