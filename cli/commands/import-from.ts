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
import { SOURCE_KINDS, type SourceKind } from './source-kinds.ts';

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
  for (const kind of SOURCE_KINDS) command.addCommand(sourceCommand(kind));
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
  const [{ assertAllowed, planned }, { planDocument, planLines }, { carriedOut, checkpointPath }, { ManifestWriter }] =
    await Promise.all([
      import('../moving/plan.ts'),
      import('../moving/plan-report.ts'),
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
