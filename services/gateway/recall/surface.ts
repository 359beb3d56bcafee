import { PROVEC, type Surface } from '../surface.ts';

/**
 * How the SDKs of the earlier service speak, given `<address>/recall` as its address: as `/api/v1`
 * does, but for the names of a few fields.
 */
export const RECALL: Surface = { ...PROVEC, base: '/recall/api/v1' };
