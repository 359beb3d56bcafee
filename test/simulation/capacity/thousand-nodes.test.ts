import { testEveryEvent } from './course.ts';

/**
 * A node over its bounds in both memory and load gives away shards for each. Some come back when
 * the shards given away for one reason would have been enough (docs/scale.md).
 */
const RETURNED_MAX = 0.2;

testEveryEvent(1_000, RETURNED_MAX);
