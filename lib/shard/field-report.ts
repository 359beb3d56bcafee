import { conditionsOf, type FilterNode } from '../filter/ast.ts';

/** A field that none of the searched records has. */
export interface AbsentField {
  field: string;
  /** The field that the client may have meant. Null if no field of the records is similar. */
  meant: string | null;
}

/** A shard's findings about the fields that a request names. */
export interface FieldReport {
  /** Number of records searched for the fields: all records of the request's namespaces. */
  records: number;
  /** Whether these are all records of the shard. Missing in reports of earlier versions. */
  isWhole?: boolean;
  /** Fields that none of these records has. */
  absent: AbsentField[];
}

/** Maximum number of fields looked for per request, and maximum characters of each. */
const FIELDS_MAX = 32;
const FIELD_MAX_CHARS = 512;

/** Returns the distinct fields to look for: `field` and those that the filter names. */
export function fieldsToFind(filter: FilterNode | null, field?: string): string[] {
  const fields = new Set<string>();
  const add = (name: string): void => {
    if (fields.size < FIELDS_MAX && name.length <= FIELD_MAX_CHARS) fields.add(name);
  };
  if (field !== undefined) add(field);
  if (filter !== null) for (const condition of conditionsOf(filter)) add(condition.field);
  return [...fields];
}
