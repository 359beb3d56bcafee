import { lostCalls } from '../../cluster/transport/lost-calls.ts';

lostCalls(async () => ({ kind: 'TCP' }));
