import { ProvecOperator } from '../client/operator.ts';
import { Provec } from '../client/provec.ts';
import { writeError } from './output/streams.ts';
import type { Connection } from './settings.ts';

/** Returns a client. Its warnings, and a note when it first repeats a request, go to stderr. */
export const clientOf = ({ url, secret }: Connection): Provec => new Provec({ ...optionsFor(url), apiKey: secret });

/** Returns the same for an operator. */
export const operatorOf = ({ url, secret }: Connection): ProvecOperator =>
  new ProvecOperator({ ...optionsFor(url), adminToken: secret });

const optionsFor = (url: string) => ({
  url,
  fetch: noticingFetch(url),
  onWarning: (warning: string) => void writeError(`warning: ${warning}`),
});

/** The client repeats requests for a minute, during which the user would see nothing. */
function noticingFetch(url: string): typeof fetch {
  let hasFailed = false;
  let isNoted = false;
  return async (...args) => {
    if (hasFailed && !isNoted) {
      isNoted = true;
      void writeError(`${url} does not answer; trying again for up to a minute`);
    }
    try {
      const response = await fetch(...args);
      hasFailed = response.status >= 500;
      return response;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
}
