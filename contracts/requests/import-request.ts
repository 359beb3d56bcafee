import { describeValue, invalidArgument, ProvecError } from '../../lib/errors.ts';
import { ref } from '../../lib/json/schema.ts';
import type { Limits } from '../../lib/limits.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';
import { decodeNamespacedRecords } from '../../lib/records/decode.ts';
import { boundedArray, invalidValue, isJsonObject, type JsonObject } from '../../lib/records/fields.ts';
import type { Metric } from '../../lib/records/metric.ts';
import { METRICS } from './collection-requests.ts';
import { type Field, shapeOf } from './field.ts';

/** The decoded lines of an import, one JSON value each. */
export interface ImportedLines {
  /** Number of lines. */
  values: number;
  /** Records with their stored ids. */
  batch: RecordBatch;
  /** Line numbers of the head and the end of an export, counted from 0; -1 if absent. */
  headAt: number;
  endAt: number;
  /** Number of records that the end line states; null without one. */
  endCount: number | null;
}

type Shape = ReturnType<typeof shapeOf>;

const ROOT = /^[0-9a-f]{64}$/;

/** Returns the object under `key` if it is the line's only key; null if the line is a record. */
function wrapperOf(line: unknown, key: string): JsonObject | null {
  if (!isJsonObject(line) || !Object.hasOwn(line, key) || Object.keys(line).length > 1) return null;
  const frame = line[key];
  return isJsonObject(frame) ? frame : null;
}

/** Returns the count of an export's last line; null for any other line. */
function endCountOf(line: unknown): number | null {
  const { count, merkleRoot } = wrapperOf(line, 'end') ?? {};
  const isEnd =
    typeof count === 'number' && Number.isInteger(count) && typeof merkleRoot === 'string' && ROOT.test(merkleRoot);
  return isEnd ? count : null;
}

/**
 * Throws DIMENSION_MISMATCH or INVALID_ARGUMENT if the export's collection has another shape. Under
 * another metric, queries would rank its records differently.
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
  const got = METRICS.includes(otherMetric as Metric) ? `${otherMetric}` : describeValue(otherMetric);
  const hint = '; without this line its records go in all the same';
  throw invalidValue(`${path}.metric`, `${metric}, the collection's own`, got, hint);
}

/** Lines of an import. Throws as `decodeRecords` does, with paths such as `lines[3].values[17]`. */
export const importedLines = (limits: Limits): Field<ImportedLines> => ({
  schema: { type: 'array', items: ref('ExportLine'), minItems: 1, maxItems: limits.recordsPerUpsertMax },
  decode(value, path, context) {
    const lines = boundedArray(value, path, 1, limits.recordsPerUpsertMax, 'lines');
    const headAt = lines.findIndex((line) => wrapperOf(line, 'export') !== null);
    const head = wrapperOf(lines[0], 'export');
    const endAt = lines.findIndex((line) => endCountOf(line) !== null);
    if (head !== null) refuseOtherShape(head, `${path}[0].export`, shapeOf(context));
    const places = [...lines.keys()].filter((at) => at !== headAt && at !== endAt);
    const batch = decodeNamespacedRecords(
      places.map((at) => lines[at]),
      (at) => `${path}[${places[at]}]`,
      { ...shapeOf(context), limits },
    );
    return { values: lines.length, batch, headAt, endAt, endCount: endCountOf(lines[endAt]) };
  },
});
