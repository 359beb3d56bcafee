import type { warningsOf } from '../../warnings.ts';

/** A request whose decoded body warnings are about. */
export type WarnedInput = Parameters<typeof warningsOf>[1];
