import type { Logger } from 'pino';
import type { Clock } from '../lib/time/clock.ts';
import type { Store } from '../store/port.ts';
import type { Config } from './config.ts';
import { PlanBook } from './plan-book.ts';

/** What every service is built from: `export default (runtime: Runtime): ServiceSchema`. */
export interface Runtime {
  readonly config: Config;
  readonly store: Store;
  readonly plans: PlanBook;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns a runtime whose plans are those of the store and the configuration. */
export const runtimeOf = (parts: Omit<Runtime, 'plans'>): Runtime => ({ ...parts, plans: new PlanBook(parts) });
