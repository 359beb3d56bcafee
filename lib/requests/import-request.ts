import { describe, invalidArgument, ProvecError } from '../errors.ts';
import { ref } from '../json/schema.ts';
import type { Limits } from '../limits.ts';
import type { RecordBatch } from '../records/batch.ts';
import { decodeNamespacedRecords } from '../records/decode.ts';
import { boundedArray, invalid, isJsonObject, type JsonObject } from '../records/fields.ts';
import type { Metric } from '../store/catalog.ts';
import { METRICS } from './collection-requests.ts';
import { type Field, shapeOf } from './field.ts';

/** What lines of an import hold, one JSON value each. */
export interface ImportedLines {
  /** How many values there are. */
  values: number;
  /** Records under their stored ids. */
  batch: RecordBatch;
  /** Which of the lines are the head and the end of an export; -1: none. */
  headAt: number;
  endAt: number;
  /** How many records the end says that there are. */
  endCount: number | null;
}

type Shape = ReturnType<typeof shapeOf>;

const ROOT = /^[0-9a-f]{64}$/;

/** What stands under `key` where that is all that a line has; else null: the line is a record. */
function frameOf(line: unknown, key: string): JsonObject | null {
  if (!isJsonObject(line) || !Object.hasOwn(line, key) || Object.keys(line).length > 1) return null;
  const frame = line[key];
  return isJsonObject(frame) ? frame : null;
}

/** The count of an export's last line; null: the line is none. */
function endCountOf(line: unknown): number | null {
  const { count, merkleRoot } = frameOf(line, 'end') ?? {};
  const isEnd = Number.isInteger(count) && typeof merkleRoot === 'string' && ROOT.test(merkleRoot);
  return isEnd ? (count as number) : null;
}

/**
 * Throws DIMENSION_MISMATCH or INVALID_ARGUMENT for the head of an export of a collection that has
 * another shape: records of another metric would go in, and queries find other ones best.
 */
function refuseOtherShape(head: JsonObject, path: string, { dimensions, metric }: Shape): void {
  const { dimensions: otherDimensions = dimensions, metric: otherMetric = metric } = head;
  if (otherDimensions !== dimensions) {
    const { message, details } = invalidArgument(
      `${path}.dimensions`,
      `${dimensions}, the collection's own`,
      otherDimensions,
    );
    throw new ProvecError('DIMENSION_MISMATCH', message, { details });
  }
  if (otherMetric === metric) return;
  const got = METRICS.includes(otherMetric as Metric) ? `${otherMetric}` : describe(otherMetric);
  const hint = '; without this line its records go in all the same';
  throw invalid(`${path}.metric`, `${metric}, the collection's own`, got, hint);
}

/** Lines of an import. Throws as `decodeRecords` does, with paths such as `lines[3].values[17]`. */
export const importedLines = (limits: Limits): Field<ImportedLines> => ({
  schema: { type: 'array', items: ref('ExportLine'), minItems: 1, maxItems: limits.recordsPerUpsertMax },
  decode(value, path, context) {
    const lines = boundedArray(value, path, 1, limits.recordsPerUpsertMax, 'lines');
    const headAt = lines.findIndex((line) => frameOf(line, 'export') !== null);
    const endAt = lines.findIndex((line) => endCountOf(line) !== null);
    if (headAt === 0) refuseOtherShape(frameOf(lines[0], 'export')!, `${path}[0].export`, shapeOf(context));
    const places = [...lines.keys()].filter((at) => at !== headAt && at !== endAt);
    const batch = decodeNamespacedRecords(
      places.map((at) => lines[at]),
      (at) => `${path}[${places[at]}]`,
      { ...shapeOf(context), limits },
    );
    return { values: lines.length, batch, headAt, endAt, endCount: endCountOf(lines[endAt]) };
  },
});
