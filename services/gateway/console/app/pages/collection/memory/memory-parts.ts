import type * as Api from '../../../../../../../client/api/generated.ts';

export type PartName = keyof NonNullable<Api.ShardMemory['parts']>;

/** What a shard keeps in memory, in the order of the bars. */
export const MEMORY_PARTS: readonly (readonly [name: PartName, label: string, meaning: string])[] = [
  ['vectors', 'Vectors', 'Exact numbers, for scores'],
  ['index', 'Index', 'The search graph; an estimate'],
  ['records', 'Records', 'Ids and metadata'],
  ['filters', 'Filters', 'Columns that filters use'],
  ['merkleMap', 'Merkle map', 'What roots and proofs are made from'],
  ['slots', 'Bookkeeping', 'Places of records, and what requests hold'],
];

/** Returns the sizes of a shard's parts in the order of the bars; zeros for a closed one. */
export const partSizes = ({ parts }: Api.ShardMemory): number[] => MEMORY_PARTS.map(([name]) => parts?.[name] ?? 0);
