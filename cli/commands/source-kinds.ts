/** The kinds of sources that `provec import-from` reads: their options, and how each is opened. */
import type { Command } from 'commander';
import type { Source } from '../sources/port.ts';

/** What the command needs to know about a kind of source. */
export interface SourceKind {
  name: string;
  description: string;
  /** Adds the options of the source. */
  addOptions(command: Command): Command;
  /** Help text that says where the source's key or password comes from. */
  access?: string;
  example: readonly string[];
  /** Loads the adapter and opens the source. */
  open(options: Record<string, string | undefined>, collection: string): Promise<OpenedSource>;
}

/** A source, and the options that decide what is moved. */
interface OpenedSource {
  source: Source;
  kept: object;
}

const FIELD_OPTIONS: readonly [flags: string, description: string, value: string][] = [
  ['--id-field <name>', 'field with the id', 'id'],
  ['--vector-field <name>', 'field with the vector', 'values'],
  ['--metadata-field <name>', 'field with an object; other fields become fields of it', 'metadata'],
  ['--namespace-field <name>', 'field with the namespace', 'namespace'],
];

function addFileOptions(command: Command): Command {
  command.requiredOption('--from <file>', 'the file');
  for (const option of FIELD_OPTIONS) command.option(...option);
  return command;
}

const fieldsIn = (options: Record<string, string | undefined>) => ({
  idField: options.idField!,
  vectorField: options.vectorField!,
  metadataField: options.metadataField!,
  namespaceField: options.namespaceField!,
});

/** Adds the options that name a collection of a running server. */
const withServer = (command: Command, url: string): Command =>
  command
    .option('--from <url>', 'address of the server', url)
    .option('--source <name>', 'name of the collection there; the same as here by default');

const VECTOR_OPTION = ['--vector-field <name>', 'name of the vector to move; needed if there are several'] as const;

/** Opens a collection whose records may have several vectors. */
function openNamedVector(
  open: (options: { from: string; source: string; vectorField?: string }) => Source,
  { from, source, vectorField }: Record<string, string | undefined>,
  collection: string,
): OpenedSource {
  const kept = vectorField === undefined ? {} : { vectorField };
  return { source: open({ from: from!, source: source ?? collection, ...kept }), kept };
}

/** The kinds of sources, in the order of the help. */
export const SOURCE_KINDS: readonly SourceKind[] = [
  {
    name: 'chroma',
    description: 'move a collection of a running Chroma server',
    addOptions: (command) =>
      withServer(command, 'http://127.0.0.1:8000')
        .option('--tenant <name>', 'its tenant', 'default_tenant')
        .option('--database <name>', 'its database', 'default_database')
        .option('--document-field <name>', 'field of the metadata for documents', 'document')
        .option('--uri-field <name>', 'field of the metadata for URIs', 'uri'),
    access: ' CHROMA_API_KEY has the key of the server, if it needs one.',
    example: [
      'provec import-from chroma notes --from http://127.0.0.1:8000 --dry-run',
      'provec import-from chroma notes',
    ],
    async open(options, collection) {
      const { openChroma } = await import('../sources/chroma.ts');
      const { from, source = collection, tenant, database, documentField, uriField } = options;
      const fields = { documentField: documentField!, uriField: uriField! };
      return {
        source: openChroma({ from: from!, source, tenant: tenant!, database: database!, ...fields }),
        kept: fields,
      };
    },
  },
  {
    name: 'qdrant',
    description: 'move a collection of a running Qdrant',
    addOptions: (command) => withServer(command, 'http://127.0.0.1:6333').option(...VECTOR_OPTION),
    access: ' QDRANT_API_KEY has the key of the server, if it needs one.',
    example: [
      'provec import-from qdrant notes --from http://127.0.0.1:6333 --dry-run',
      'provec import-from qdrant notes',
    ],
    async open(options, collection) {
      const { openQdrant } = await import('../sources/qdrant.ts');
      return openNamedVector(openQdrant, options, collection);
    },
  },
  {
    name: 'weaviate',
    description: 'move a collection of a running Weaviate, with its tenants as namespaces',
    addOptions: (command) => withServer(command, 'http://127.0.0.1:8081').option(...VECTOR_OPTION),
    access: ' WEAVIATE_API_KEY has the key of the server, if it needs one.',
    example: [
      'provec import-from weaviate notes --source Note --from http://127.0.0.1:8081 --dry-run',
      'provec import-from weaviate notes --source Note --from http://127.0.0.1:8081',
    ],
    async open(options, collection) {
      const { openWeaviate } = await import('../sources/weaviate.ts');
      return openNamedVector(openWeaviate, options, collection);
    },
  },
  {
    name: 'pinecone',
    description: 'move a serverless index of Pinecone, with its namespaces',
    addOptions: (command) =>
      command.requiredOption('--from <url>', "address of the index, as Pinecone's console shows it"),
    access: ' PINECONE_API_KEY has its key.',
    example: [
      'provec import-from pinecone notes --from https://notes-1a2b3c4.svc.aped-4627-b74a.pinecone.io --dry-run',
      'provec import-from pinecone notes --from https://notes-1a2b3c4.svc.aped-4627-b74a.pinecone.io',
    ],
    async open(options) {
      const { openPinecone } = await import('../sources/pinecone.ts');
      return { source: openPinecone({ from: options.from! }), kept: {} };
    },
  },
  {
    name: 'pgvector',
    description: 'move a table of PostgreSQL with a column of pgvector',
    addOptions: (command) =>
      command
        .option('--from <url>', 'postgres://user@host:5432/database; by default, the variables of libpq (PGHOST, ...)')
        .option('--source <table>', 'name of the table there; the same as here by default')
        .option('--id-field <column>', 'column with a unique id; the primary key by default')
        .option('--vector-field <column>', 'column with the vector; needed if there are several')
        .option('--metadata-field <column>', 'column with a JSON object; other columns become fields of it')
        .option('--namespace-field <column>', 'column with the namespace'),
    access: ' PGPASSWORD or ~/.pgpass has the password.',
    example: [
      'provec import-from pgvector notes --from postgres://me@127.0.0.1:5432/app --dry-run',
      'provec import-from pgvector notes --from postgres://me@127.0.0.1:5432/app --metadata-field metadata',
    ],
    async open(options, collection) {
      const { openPgvector } = await import('../sources/pgvector.ts');
      const { from, source = collection, idField, vectorField, metadataField, namespaceField } = options;
      const fields = { idField, vectorField, metadataField, namespaceField };
      const given = Object.fromEntries(Object.entries(fields).filter(([, name]) => name !== undefined));
      return { source: openPgvector({ source, ...given, ...(from !== undefined && { from }) }), kept: given };
    },
  },
  {
    name: 'ndjson',
    description: 'move the records of a file with one JSON object per line, or of an export of Provec',
    addOptions: addFileOptions,
    example: [
      'provec export notes --records-only > records.ndjson',
      'provec import-from ndjson from-file --from records.ndjson',
    ],
    async open(options) {
      const { openNdjson } = await import('../sources/ndjson.ts');
      const fields = fieldsIn(options);
      return { source: openNdjson(options.from!, fields), kept: fields };
    },
  },
  {
    name: 'parquet',
    description: 'move the rows of a Parquet file',
    addOptions: addFileOptions,
    example: [
      'provec export notes --to parquet --out notes.parquet',
      'provec import-from parquet from-table --from notes.parquet',
    ],
    async open(options) {
      const { openParquet } = await import('../sources/parquet.ts');
      const fields = fieldsIn(options);
      return { source: openParquet(options.from!, fields), kept: fields };
    },
  },
];
