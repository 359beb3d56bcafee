import { Provec } from '../client/provec.ts';
import { writeError } from './output/streams.ts';
import type { Profile } from './profile.ts';

/** Returns a client. Its warnings, and a note when it first repeats a request, go to stderr. */
export const clientOf = (connection: Profile): Provec =>
  new Provec({
    ...connection,
    fetch: noticingFetch(connection.url),
    onWarning: (warning) => void writeError(`warning: ${warning}`),
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
