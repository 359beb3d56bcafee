import { Command, Option } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import type { Api } from '../../client/index.ts';
import { readJsonOption, readObjectOption } from '../input/read-text.ts';
import { examples, finiteNumber, wholeNumber } from '../option-values.ts';
import { writeError } from '../output/streams.ts';
import { tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

interface QueryOptions {
  vector?: string;
  id?: string;
  filter?: string;
  topK?: number;
  namespace?: string;
  allNamespaces?: true;
  includeValues?: true;
  /** False with --no-metadata. */
  metadata: boolean;
  scoreThreshold?: number;
  exact?: true;
  consistency?: 'strong' | 'eventual';
  allowPartial?: true;
}

/** Option for reads that a copy of a shard may answer. */
export const consistencyOption = (): Option =>
  new Option('--consistency <level>', 'strong by default').choices(['strong', 'eventual']);

export const queryCommand = (): Command =>
  new Command('query')
    .description('find the records most similar to a vector or to a record')
    .argument('<collection>', 'its name or an alias')
    .option('--vector <json>', 'the vector as a JSON array; @ and a file, or - for stdin')
    .option('--id <id>', 'search near this record')
    .option('--top-k <n>', 'maximum number of matches; 10 by default', wholeNumber)
    .option('--filter <json>', 'conditions on metadata; @ and a file, or - for stdin')
    .option('--namespace <name>', 'namespace of the records')
    .option('--all-namespaces', 'search all namespaces')
    .option('--include-values', 'return the vectors as well')
    .option('--no-metadata', 'leave out the metadata')
    .option('--score-threshold <score>', 'only matches with at least this score', finiteNumber)
    .option('--exact', 'compare with every record instead of searching the index')
    .addOption(consistencyOption())
    .option('--allow-partial', 'answer without the shards that do not respond')
    .addHelpText(
      'after',
      examples(
        `provec query notes --vector '[0.1, 0.2, 0.3, 0.4]' --filter '{"year": {"$gte": 2026}}'`,
        `echo '[0.1, 0.2, 0.3, 0.4]' | provec query notes --vector - --top-k 1 --json`,
        'provec query notes --id a',
      ),
    )
    .action(
      inSession(async (session, name: string, options: QueryOptions) => {
        const body = await queryOf(options);
        const result = await (await session.collection(name)).query(body, session.request);
        const { shards } = result;
        if (shards !== undefined && shards.failed > 0)
          await writeError(`warning: ${shards.failed} of ${shards.total} shards did not respond`);
        await session.print(result, () => matchLines(result.matches));
      }),
    );

async function queryOf({ vector, filter, metadata, ...others }: QueryOptions): Promise<Api.Query> {
  if ((vector === undefined) === (others.id === undefined)) throw new InputError('Give --vector or --id, not both.');
  const query = {
    ...others,
    ...(vector !== undefined && { vector: await readVector(vector) }),
    ...(filter !== undefined && { filter: await readObjectOption<Api.Filter>(filter, '--filter') }),
    ...(!metadata && { includeMetadata: false }),
  };
  return query as Api.Query;
}

async function readVector(given: string): Promise<number[]> {
  const value = await readJsonOption(given, '--vector');
  if (!Array.isArray(value)) throw new InputError('--vector must be a JSON array of numbers, such as [0.1, 0.2].');
  return value as number[];
}

function matchLines(matches: readonly Api.Match[]): string[] {
  const columns = (['id', 'namespace', 'score', 'distance', 'metadata', 'values'] as const).filter(
    (name) => name === 'id' || name === 'score' || matches.some((match) => match[name] !== undefined),
  );
  return tableLines(
    columns,
    matches.map((match) => columns.map((name) => match[name])),
  );
}
