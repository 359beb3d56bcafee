import { RecordSet, type WholeRecord } from './collection-root.ts';
import { hasRepeatedKey, parseJson } from './json-text.ts';
import { hashFromHex, isCollectionId } from './record-proof.ts';
import { requireThat } from './verification-error.ts';

const HEAD_FIELDS = ['collectionId', 'name', 'dimensions', 'metric', 'version', 'merkleRoot', 'vectorCount'];
const END_FIELDS = ['count', 'merkleRoot'];
const RECORD_FIELDS = ['id', 'values', 'metadata', 'namespace'];

/** What an export states about its collection. `verifyExport` says which fields it verifies. */
export interface VerifiedExport {
  collectionId: string;
  /** Not unique: while several shards are written, states with different roots can share it. */
  version: number;
  /** 64 lower-case hex digits. Compare it with the roots on the ledger, ignoring versions. */
  merkleRoot: string;
  vectorCount: number;
}

/**
 * Reads the lines of an export (`GET /collections/{name}/export`, without line breaks) and computes
 * the root from the records alone. Rejects with a VerificationError if the export names another
 * root, was cut off, or has an invalid line. Unknown fields are invalid, since the root does not
 * cover them. So are repeated keys, since parsers differ in which one they keep.
 *
 * `collectionId`, `name`, `dimensions`, `metric` and `version` are not verified: compare the id
 * with the one whose account has the root, and the others with what you know.
 */
export async function verifyExport(lines: Iterable<string> | AsyncIterable<string>): Promise<VerifiedExport> {
  const records = new RecordSet();
  let head: VerifiedExport | null = null;
  let end: unknown = null;
  let number = 0;
  for await (const line of lines) {
    number++;
    if (line === '') continue;
    requireThat(end === null, 'malformed', 'The export continues after its end.');
    const place = `Line ${number}`;
    const entry = parseLine(line, place);
    if (head === null) head = headOf(entry, place);
    else if ('end' in entry) end = endOf(entry, place);
    else addTo(records, entry, place);
  }
  requireThat(head !== null && end !== null, 'malformed', 'The export was cut off: it has no end.');
  const root = records.root();
  const count = records.size;
  const { count: statedCount, merkleRoot } = end as { count?: unknown; merkleRoot?: unknown };
  const isWhole = statedCount === count && head.vectorCount === count;
  requireThat(isWhole, 'wrong-content', `The export has ${count} records, which is not the number that it states.`);
  requireThat(root === head.merkleRoot && root === merkleRoot, 'wrong-root', 'The records do not give the root.');
  return head;
}

function parseLine(line: string, place: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    requireThat(false, 'malformed', 'A line is not JSON.');
  }
  requireThat(typeof value === 'object' && value !== null, 'malformed', 'A line is not an object.');
  requireThat(!hasRepeatedKey(line, value), 'malformed', `${place} has a key twice in one object.`);
  return value as Record<string, unknown>;
}

function headOf(line: Record<string, unknown>, place: string): VerifiedExport {
  const { export: head } = line;
  requireThat(typeof head === 'object' && head !== null, 'malformed', 'The first line is not the head of an export.');
  refuseUncoveredFields(line, ['export'], place);
  refuseUncoveredFields(head, HEAD_FIELDS, place);
  const { collectionId, version, merkleRoot, vectorCount } = head as Record<string, unknown>;
  requireThat(isCollectionId(collectionId), 'malformed', 'collectionId is not a lower-case UUID.');
  requireThat(isCount(version), 'malformed', 'version is not a whole number.');
  requireThat(isCount(vectorCount), 'malformed', 'vectorCount is not a whole number.');
  hashFromHex(merkleRoot as string, 'merkleRoot');
  return { collectionId, version, merkleRoot, vectorCount } as VerifiedExport;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function endOf(line: Record<string, unknown>, place: string): object {
  const { end } = line;
  requireThat(typeof end === 'object' && end !== null, 'malformed', `${place} is not the end of an export.`);
  refuseUncoveredFields(line, ['end'], place);
  refuseUncoveredFields(end, END_FIELDS, place);
  return end;
}

/** Refuses unknown fields: the root does not cover them, but later readers may rely on them. */
function refuseUncoveredFields(object: object, known: readonly string[], place: string): void {
  const other = Object.keys(object).find((name) => !known.includes(name));
  requireThat(other === undefined, 'malformed', `${place} has an unknown field: ${JSON.stringify(other)}.`);
}

function addTo(records: RecordSet, record: Record<string, unknown>, place: string): void {
  refuseUncoveredFields(record, RECORD_FIELDS, place);
  try {
    records.add(record as unknown as WholeRecord);
  } catch (error) {
    requireThat(false, 'malformed', `${place} is not a record: ${(error as Error).message}`);
  }
}
