import { Command, Option } from 'commander';
import type { Api } from '../../client/index.ts';
import { confirm, YES } from '../confirmation.ts';
import { examples, pairs, wholeNumber } from '../option-values.ts';
import { countedRecords } from '../output/counted.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const COLUMNS = ['name', 'dimensions', 'metric', 'vector_count', 'shards', 'created_at'] as const;

export const collectionsCommand = (): Command =>
  new Command('collections')
    .description('list, create, get and delete collections')
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(getCommand())
    .addCommand(deleteCommand())
    .addHelpText('after', examples('provec collections list'));

const listCommand = (): Command =>
  new Command('list')
    .description('list the collections, newest first')
    .addHelpText('after', examples('provec collections list'))
    .action(
      inSession(async (session) => {
        const collections = await (await session.client()).listCollections({}, session.request).all();
        await session.print({ collections }, () =>
          tableLines(
            COLUMNS,
            collections.map((each) => COLUMNS.map((name) => each[name])),
          ),
        );
      }),
    );

interface CreateOptions extends Omit<Api.CreateCollection, 'name'> {
  tag?: Record<string, string>;
  ifNotExists?: true;
}

const createCommand = (): Command =>
  new Command('create')
    .description('create a collection')
    .argument('<collection>', 'its name')
    .addOption(new Option('--dimensions <n>', 'length of every vector').argParser(wholeNumber).makeOptionMandatory())
    .addOption(
      new Option('--metric <metric>', 'how vectors are compared; cosine by default').choices([
        'cosine',
        'euclidean',
        'dot',
      ]),
    )
    .option('--shards <n>', 'number of shards, a power of two', wholeNumber)
    .option('--replicas <n>', 'copies of each shard', wholeNumber)
    .addOption(
      new Option('--quantization <type>', 'precision of the search index').choices(['bf16', 'f32', 'f16', 'i8']),
    )
    .option('--deletion-protection', 'refuse to delete the collection')
    .option('--tag <name=text>', 'a tag; may be given several times', pairs)
    .option('--if-not-exists', 'accept an existing collection with the same settings')
    .addHelpText('after', examples('provec collections create films --dimensions 3 --metric dot --if-not-exists'))
    .action(
      inSession(async (session, name: string, { tag: tags, ifNotExists, ...settings }: CreateOptions) => {
        const client = await session.client();
        const body = { name, ...settings, ...(tags && { tags }) };
        const collection = ifNotExists
          ? await client.getOrCreate(body, session.request)
          : await client.createCollection(body, session.request);
        await session.print({ collection }, () => fieldLines({ ...collection }));
      }),
    );

const getCommand = (): Command =>
  new Command('get')
    .description('show the settings, the size, the root and the newest anchor of a collection')
    .argument('<collection>', 'its name or an alias')
    .addHelpText('after', examples('provec collections get notes'))
    .action(
      inSession(async (session, name: string) => {
        const collection = await (await session.collection(name)).describe(session.request);
        const { anchor, ...others } = collection;
        await session.print({ collection }, () =>
          fieldLines({
            ...others,
            anchor: anchor.status,
            anchoredVersion: anchor.version,
            ledgerAddress: anchor.ledgerAddress,
          }),
        );
      }),
    );

const deleteCommand = (): Command =>
  new Command('delete')
    .description('delete a collection with everything in it')
    .argument('<collection>', 'its name')
    .option(...YES)
    .addHelpText('after', examples('provec collections delete films --yes'))
    .action(
      inSession(async (session, name: string, { yes }: { yes?: boolean }) => {
        const client = await session.client();
        await confirm(async () => {
          const { vector_count: count } = await client.collection(name).describe(session.request);
          return `Delete the collection ${name} with ${countedRecords(count)}?`;
        }, yes);
        await client.deleteCollection(name, session.request);
        await session.print({ deleted: true }, () => [`deleted ${name}`]);
      }),
    );
