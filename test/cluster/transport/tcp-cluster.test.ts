import { stayingNodes } from './staying-nodes.ts';

stayingNodes(() => ({ kind: 'TCP' }));
