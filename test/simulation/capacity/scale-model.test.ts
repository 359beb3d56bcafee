import { testEveryEvent } from './course.ts';

/** PROVEC_SCALE_NODES=10,30,300 selects other sizes. */
for (const nodes of (process.env.PROVEC_SCALE_NODES ?? '10,100').split(',')) testEveryEvent(Number(nodes));
