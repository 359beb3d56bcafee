import { getHeapStatistics } from 'node:v8';
import { INTERNAL_LIMITS } from '../limits.ts';
import type { PageItem } from '../shard/match.ts';
import { type MemoryBounds, MemoryBudget, type MemoryObserver } from './memory-budget.ts';

const RECORD_OVERHEAD_BYTES = 128;
/** Answers may exist twice while they are sent, and text takes up to two bytes per character. */
const HEAP_SHARE = 1 / 8;
const REFUSAL = 'The service is sending too many large answers; send the request again, or ask for less.';

const tooLarge = (maxBytes: number): string =>
  `The answer would take more than ${Math.floor(maxBytes / 2 ** 20)} MiB; ask for fewer records or send fewer queries at a time, or leave out values or metadata.`;

/**
 * Returns the bounds of all answers held by a service of this process: a share of the heap, at most
 * the configured limit.
 */
export function answerBounds(heapBytes = getHeapStatistics().heap_size_limit): MemoryBounds {
  const { answersMaxBytes, answerMaxBytes, answersSmallReserveBytes, answerSmallMaxBytes } = INTERNAL_LIMITS;
  const maxBytes = Math.min(answersMaxBytes, Math.floor(heapBytes * HEAP_SHARE));
  const partOf = (bytes: number): number => Math.floor((maxBytes * bytes) / answersMaxBytes);
  const smallReserveBytes = partOf(answersSmallReserveBytes);
  const one = { maxBytes: partOf(answerMaxBytes), message: tooLarge(partOf(answerMaxBytes)) };
  return { maxBytes, smallReserveBytes, smallMaxBytes: Math.min(answerSmallMaxBytes, smallReserveBytes), one };
}

export const answerBudget = (observer?: MemoryObserver, bounds = answerBounds()): MemoryBudget =>
  new MemoryBudget(bounds, REFUSAL, observer);

/**
 * Bounds the encoded responses that clients have not read yet. It is smaller than the answers'
 * budget: one account's unread texts must not pile up.
 */
export function textBudget(observer?: MemoryObserver, heapBytes = getHeapStatistics().heap_size_limit): MemoryBudget {
  const { textAnswersMaxBytes, textAnswerSmallMaxBytes } = INTERNAL_LIMITS;
  const maxBytes = Math.min(textAnswersMaxBytes, Math.floor(heapBytes * HEAP_SHARE));
  const smallReserveBytes = Math.floor(maxBytes / 8);
  const smallMaxBytes = Math.min(textAnswerSmallMaxBytes, smallReserveBytes);
  const oneMaxBytes = maxBytes - smallReserveBytes;
  const one = { maxBytes: oneMaxBytes, message: tooLarge(oneMaxBytes) };
  return new MemoryBudget({ maxBytes, smallReserveBytes, smallMaxBytes, one }, REFUSAL, observer);
}

export function vectorBytes(records: number, dimensions: number): number {
  return records * dimensions * Float32Array.BYTES_PER_ELEMENT;
}

/** Estimates the memory, in bytes, of an answer's records or value counts. */
export function recordBytes(items: readonly PageItem[]): number {
  return items.reduce((bytes, item) => bytes + RECORD_OVERHEAD_BYTES + bytesOf(item), 0);
}

function bytesOf(item: PageItem): number {
  if (Array.isArray(item)) return String(item[0]).length;
  return item.id.length + (item.metadata?.length ?? 0) + (item.values?.byteLength ?? 0);
}
