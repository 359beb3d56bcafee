import type { Logger } from 'pino';
import type { Clock } from '../lib/time/clock.ts';
import type { Store } from '../store/port.ts';
import type { Config } from './config.ts';

/** What every service is built from: `export default (runtime: Runtime): ServiceSchema`. */
export interface Runtime {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}
