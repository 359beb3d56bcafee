import { lostCalls } from '../transport/lost-calls.ts';

lostCalls(async () => ({ kind: 'TCP' }));
