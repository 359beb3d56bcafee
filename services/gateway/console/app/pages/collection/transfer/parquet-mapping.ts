/** Which columns of a Parquet file become what of a record. */

export interface ParquetColumn {
  name: string;
  kind: 'text' | 'number' | 'list' | 'object' | 'json' | 'other';
}

export interface ColumnMapping {
  id: string;
  vector: string;
  /** '' for the default namespace. */
  namespace: string;
  /** Column with an object, or the text of one; '' for none. */
  metadata: string;
  /** Columns that become fields of the metadata. */
  fields: readonly string[];
}

const NAMES = {
  id: /^(_?id|key|uuid|doc_?id)$/i,
  vector: /^(values?|vectors?|embeddings?|emb)$/i,
  namespace: /^namespace$/i,
  metadata: /^(metadata|meta|payload)$/i,
};

/** Guesses a mapping from the names and kinds of the columns. */
export function guessedMapping(columns: readonly ParquetColumn[]): ColumnMapping {
  const named = (pattern: RegExp, kinds: readonly ParquetColumn['kind'][]) =>
    columns.find(({ name, kind }) => pattern.test(name) && kinds.includes(kind))?.name ?? '';
  const first = (kind: ParquetColumn['kind']) => columns.find((column) => column.kind === kind)?.name ?? '';
  const id = named(NAMES.id, ['text', 'number']) || first('text') || first('number');
  const vector = named(NAMES.vector, ['list', 'json']) || first('list');
  const namespace = named(NAMES.namespace, ['text']);
  const metadata = named(NAMES.metadata, ['object', 'json', 'text']);
  const own = [id, vector, namespace, metadata];
  const fields = columns.map(({ name }) => name).filter((name) => !own.includes(name));
  return { id, vector, namespace, metadata, fields };
}

/** Returns the columns that a mapping reads. */
export const columnsOf = ({ id, vector, namespace, metadata, fields }: ColumnMapping): string[] => [
  ...new Set([id, vector, namespace, metadata, ...fields].filter((name) => name !== '')),
];
