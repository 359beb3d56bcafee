import { RecordSet, type WholeRecord } from './collection-root.ts';
import { parseJson } from './json-text.ts';
import { hashFromHex, isCollectionId } from './record-proof.ts';
import { demand } from './verification-error.ts';

/** What an export says of the collection that it is of, and what its records bear out. */
export interface VerifiedExport {
  collectionId: string;
  /** While several shards are written, states with other roots can have the same. */
  version: number;
  /** 64 lower-case hex digits: hold it against the roots on the ledger, whatever their versions. */
  merkleRoot: string;
  vectorCount: number;
}

/**
 * Reads the lines of an export (of `GET /collections/{name}/export`, without their ends) and
 * computes the root from the records alone. Rejects with a VerificationError where that is not the
 * root that the export names, where it was cut off, or where a line is none of an export.
 */
export async function verifyExport(lines: Iterable<string> | AsyncIterable<string>): Promise<VerifiedExport> {
  const records = new RecordSet();
  let head: VerifiedExport | null = null;
  let end: unknown = null;
  for await (const line of lines) {
    if (line === '') continue;
    demand(end === null, 'malformed', 'Something follows the end of the export.');
    const said = parsed(line);
    if (head === null) head = headOf(said);
    else if ('end' in said) end = said.end;
    else addTo(records, said);
  }
  demand(head !== null && end !== null, 'malformed', 'The export was cut off: it has no end.');
  const root = records.root();
  const count = records.size;
  const { count: said, merkleRoot } = end as { count?: unknown; merkleRoot?: unknown };
  const isWhole = said === count && head.vectorCount === count;
  demand(isWhole, 'wrong-content', `The export has ${count} records, and says that it has ${head.vectorCount}.`);
  demand(root === head.merkleRoot && root === merkleRoot, 'wrong-root', 'The records do not give the root.');
  return head;
}

function parsed(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    demand(false, 'malformed', 'A line is not JSON.');
  }
  demand(typeof value === 'object' && value !== null, 'malformed', 'A line is not an object.');
  return value as Record<string, unknown>;
}

function headOf({ export: head }: Record<string, unknown>): VerifiedExport {
  demand(typeof head === 'object' && head !== null, 'malformed', 'The first line is not the head of an export.');
  const { collectionId, version, merkleRoot, vectorCount } = head as Record<string, unknown>;
  demand(isCollectionId(collectionId), 'malformed', 'collectionId is not a lower-case UUID.');
  demand(Number.isSafeInteger(version), 'malformed', 'version is not a whole number.');
  demand(Number.isSafeInteger(vectorCount), 'malformed', 'vectorCount is not a whole number.');
  hashFromHex(merkleRoot as string, 'merkleRoot');
  return { collectionId, version, merkleRoot, vectorCount } as VerifiedExport;
}

function addTo(records: RecordSet, record: Record<string, unknown>): void {
  try {
    records.add(record as unknown as WholeRecord);
  } catch (error) {
    demand(false, 'malformed', `A line is no record: ${(error as Error).message}`);
  }
}
