import type { ShardEngine } from './port.ts';
import { type EngineOptions, Shard } from './shard.ts';

/** Returns the engine that keeps records and an HNSW graph in memory. */
export function memoryEngine(options: EngineOptions = {}): ShardEngine {
  return {
    create: (spec) => new Shard(spec, options),
    load: (checkpoint, spec) => Shard.load(checkpoint, spec, options),
  };
}
