import { ref } from '../json/schema.ts';
import type { Limits } from '../limits.ts';
import type { RecordBatch } from '../records/batch.ts';
import { decodeNamespacedRecords } from '../records/decode.ts';
import { boundedArray, isJsonObject } from '../records/fields.ts';
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
}

/** Lines of an import. Throws as `decodeRecords` does, with paths such as `lines[3].values[17]`. */
export const importedLines = (limits: Limits): Field<ImportedLines> => ({
  schema: { type: 'array', items: ref('ExportLine'), minItems: 1, maxItems: limits.recordsPerUpsertMax },
  decode(value, path, context) {
    const lines = boundedArray(value, path, 1, limits.recordsPerUpsertMax, 'lines');
    const [headAt, endAt] = ['export', 'end'].map((key) =>
      lines.findIndex((line) => isJsonObject(line) && key in line),
    );
    const places = [...lines.keys()].filter((at) => at !== headAt && at !== endAt);
    const batch = decodeNamespacedRecords(
      places.map((at) => lines[at]),
      (at) => `${path}[${places[at]}]`,
      { ...shapeOf(context), limits },
    );
    return { values: lines.length, batch, headAt, endAt };
  },
});
