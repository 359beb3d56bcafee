import { course } from './course.ts';

/**
 * What a node that is over by memory and by load gave away for the one comes back where giving away
 * for the other was enough (docs/scale.md).
 */
const RETURNED_MAX = 0.2;

course(1_000, RETURNED_MAX);
