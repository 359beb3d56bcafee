import { type Dialect, PROVEC } from '../dialect.ts';

/**
 * Dialect of the earlier service's SDKs, with `<address>/recall` as their address. Like `/api/v1`,
 * except for the names of a few fields.
 */
export const RECALL: Dialect = { ...PROVEC, base: '/recall/api/v1' };
