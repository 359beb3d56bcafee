/**
 * What every engine must show, by the port alone (services/shards/engine/port.ts). Called once for
 * each engine.
 */
import { describe } from '@jest/globals';
import type { ShardEngine } from '../../services/shards/engine/port.ts';
import { checkpointsContract } from './engine-checkpoints-contract.ts';
import { modelContract } from './engine-model-contract.ts';
import { snapshotsContract } from './engine-snapshots-contract.ts';
import { writesContract } from './engine-writes-contract.ts';

interface ContractOptions {
  /** Whether even a small shard has an index that queries prefer, or no shard has one. */
  index?: 'always' | 'never';
  /** Estimated work per step, in nanoseconds. */
  stepNs?: number;
  /** Clock of background work. */
  monotonicMs?: () => number;
}

export type MakeEngine = (options?: ContractOptions) => ShardEngine;

export function engineContract(make: MakeEngine): void {
  describe('writes', () => writesContract(make));
  describe('snapshots', () => snapshotsContract(make));
  describe('checkpoints', () => checkpointsContract(make));
  describe('a random run', () => modelContract(make));
}
