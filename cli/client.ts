import { ProvecOperator } from '../client/operator.ts';
import { Provec } from '../client/provec.ts';
import { writeError } from './output/streams.ts';
import { isOtherMachine } from './plain-http.ts';
import { ADMIN_TOKEN, API_KEY, type Connection, type Credential } from './settings.ts';

/** Returns a client. Its warnings, and a note when it first retries a request, go to stderr. */
export function clientOf({ url, secret }: Connection): Provec {
  const client = new Provec({ ...optionsFor(url), apiKey: secret });
  warnOfPlainHttp(url, API_KEY);
  return client;
}

/** Returns the same for an operator. */
export function operatorOf({ url, secret }: Connection): ProvecOperator {
  const operator = new ProvecOperator({ ...optionsFor(url), adminToken: secret });
  warnOfPlainHttp(url, ADMIN_TOKEN);
  return operator;
}

/** Warns that a secret crosses the network unencrypted. */
export function warnOfPlainHttp(address: string, { what }: Credential): void {
  const url = new URL(address);
  if (url.protocol !== 'http:' || !isOtherMachine(url)) return;
  void writeError(`warning: the ${what} goes to ${url.host} over plain HTTP, where others can read it; use https`);
}

const optionsFor = (url: string) => ({
  url,
  fetch: noticingFetch(url),
  onWarning: (warning: string) => void writeError(`warning: ${warning}`),
});

/** The client retries for a minute, during which the user would otherwise see nothing. */
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
