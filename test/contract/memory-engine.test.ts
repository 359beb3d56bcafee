import { memoryEngine } from '../../services/shards/engine/memory-engine.ts';
import { SMALL_GRAPH } from '../support/shard-engine.ts';
import { engineContract } from './engine-contract.ts';

const INDEX = { always: SMALL_GRAPH, never: { graphMinRecords: 1e9 } };

engineContract(({ index, ...options } = {}) => memoryEngine({ ...(index && INDEX[index]), ...options }));
