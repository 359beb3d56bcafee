import type { ExpectedRecord } from './verify-proof.ts';

const RECORD_KEYS = ['id', 'namespace', 'values', 'metadata'];

/**
 * Returns an expected record. Throws TypeError for an unknown key, since a misspelt key would be
 * ignored. `source` names where the value is from, for errors.
 */
export function expectedRecordIn(value: unknown, source: string): ExpectedRecord {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const keys = isObject ? Object.keys(value) : [];
  const other = keys.find((key) => !RECORD_KEYS.includes(key));
  if (other !== undefined)
    throw new TypeError(
      `${source} has the key ${JSON.stringify(other)}; a record has id, namespace, values and metadata alone.`,
    );
  if (keys.length === 0)
    throw new TypeError(`${source} must hold an object with at least one of id, values and metadata.`);
  return value as ExpectedRecord;
}
