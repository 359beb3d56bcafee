import { existsSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { clientOf } from '../client.ts';
import { EXIT } from '../exit-code.ts';
import type { MoveOptions, MoveOutcome } from '../moving/move.ts';
import type { Plan } from '../moving/plan.ts';
import { examples, wholeNumber } from '../option-values.ts';
import { jsonLine } from '../output/json.ts';
import { write } from '../output/streams.ts';
import { inSession, type Session } from '../session.ts';
import { API_KEY, connectionOf } from '../settings.ts';
import { ISSUE_NAMES, type Issue } from '../sources/issues.ts';
import type { Metric, Source } from '../sources/port.ts';

const IN_FLIGHT = 4;
const IN_FLIGHT_MAX = 32;
/** Number of records per upsert. */
const PAGE_MAX = 1_000;
const ALL = 'all';

/** Options of every source. */
interface CommonOptions {
  dryRun?: true;
  limit?: number;
  leaveOut?: Issue[];
  metric?: Metric;
  namespace: string;
  manifest?: string;
  page?: number;
  inFlight: number;
  /** False with --no-survey. */
  survey: boolean;
}

/** What the command needs to know about a kind of source. */
interface SourceKind {
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

export const importFromCommand = (): Command => {
  const command = new Command('import-from')
    .description('move records in from another vector database or a file, and check that nothing was lost')
    .addHelpText(
      'after',
      examples(
        'provec export notes --records-only > moved.ndjson',
        'provec import-from ndjson moved --from moved.ndjson',
      ),
    );
  for (const kind of KINDS) command.addCommand(sourceCommand(kind));
  return command;
};

function sourceCommand({ name, description, addOptions, access = '', example, open }: SourceKind): Command {
  const command = new Command(name)
    .description(description)
    .argument('<collection>', 'collection of Provec, which is created if it does not exist');
  return addOptions(command)
    .option('--dry-run', 'read the source and print the plan; write nothing')
    .option('--limit <n>', 'move only the first n records', wholeNumber)
    .option(
      '--leave-out <kind>',
      `leave out what Provec does not have: ${ISSUE_NAMES.join(', ')} or ${ALL}; may be given several times`,
      leftOut,
    )
    .addOption(
      new Option('--metric <metric>', "how vectors are compared; the source's by default").choices([
        'cosine',
        'euclidean',
        'dot',
      ]),
    )
    .option('--namespace <name>', 'namespace of records for which the source has none', '')
    .option('--manifest <file>', 'file for the signed list of what was moved; <collection>.manifest by default')
    .option('--page <n>', 'records per request; by default as many as have 200,000 numbers', wholeNumber)
    .option('--in-flight <n>', 'pages that are sent at the same time', wholeNumber, IN_FLIGHT)
    .option('--no-survey', 'begin without reading the source first; stop at a record that cannot be moved')
    .addHelpText(
      'after',
      `
Reads the source twice: first to count what Provec does not have, then to move the records. Then
reads every record back and compares it. Run the same command again after an interruption: it
continues.${access}
${examples(...example)}`,
    )
    .action(
      inSession(async (session, collection: string, options: CommonOptions & Record<string, string | undefined>) => {
        const { source, kept } = await open(options, collection);
        try {
          return await run(session, source, moveOptions(collection, options, kept), options.dryRun === true);
        } finally {
          await source.close();
        }
      }),
    );
}

function leftOut(given: string, before: Issue[] = []): Issue[] {
  if (given === ALL) return ISSUE_NAMES;
  const issue = ISSUE_NAMES.find((name) => name === given);
  if (issue === undefined) throw new InvalidArgumentError(`Give one of ${ISSUE_NAMES.join(', ')} or ${ALL}.`);
  return [...new Set([...before, issue])];
}

function moveOptions(collection: string, options: CommonOptions, adapter: object): MoveOptions {
  const { limit = Number.POSITIVE_INFINITY, leaveOut = [], metric, namespace, page, inFlight, survey } = options;
  const { manifest = `${collection}.manifest` } = options;
  if (limit === 0) throw new InputError('--limit must be at least 1.');
  if (page !== undefined && (page < 1 || page > PAGE_MAX))
    throw new InputError(`--page must be from 1 to ${PAGE_MAX}.`);
  if (inFlight < 1 || inFlight > IN_FLIGHT_MAX) throw new InputError(`--in-flight must be from 1 to ${IN_FLIGHT_MAX}.`);
  return {
    collection,
    limit,
    leaveOut,
    namespace,
    manifest,
    inFlight,
    survey,
    adapter: { ...adapter },
    ...(metric !== undefined && { metric }),
    ...(page !== undefined && { page }),
  };
}

async function run(session: Session, source: Source, options: MoveOptions, isDryRun: boolean): Promise<number> {
  const [{ assertAllowed, planDocument, planLines, planned }, { carriedOut, checkpointPath }, { ManifestWriter }] =
    await Promise.all([
      import('../moving/plan.ts'),
      import('../moving/move.ts'),
      import('../manifest/manifest-writer.ts'),
    ]);
  if (!isDryRun) ManifestWriter.assertFree(options.manifest);
  const connection = await connectionOf(session.options, API_KEY);
  const client = clientOf(connection);
  const isResumed = existsSync(checkpointPath(options.manifest));
  const plan: Plan = await planned(session, client, source, options, isResumed);
  const document = planDocument(plan, options);
  if (!session.isJson) await write(`${planLines(plan, options).join('\n')}\n`);
  else if (isDryRun) await write(jsonLine({ plan: document }));
  if (isDryRun) return plan.refused.length === 0 ? EXIT.done : EXIT.negative;
  assertAllowed(plan);
  const beganMs = performance.now();
  const outcome = await carriedOut(session, { client, url: connection.url }, source, plan, options);
  const seconds = (performance.now() - beganMs) / 1_000;
  return report(session, document, outcome, options, seconds);
}

async function report(
  session: Session,
  plan: object,
  outcome: MoveOutcome,
  options: MoveOptions,
  seconds: number,
): Promise<number> {
  const { outcomeDocument, outcomeLines } = await import('../moving/outcome.ts');
  const document = outcomeDocument(outcome, options, seconds);
  await session.print({ plan, ...document }, () => ['', ...outcomeLines(document)]);
  return document.moved ? EXIT.done : EXIT.negative;
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

/** In the order of the help. */
const KINDS: readonly SourceKind[] = [
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
