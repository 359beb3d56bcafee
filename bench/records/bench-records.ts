/**
 * `npm run bench -- records [--chroma URL] [--postgres URL]`: measures record operations other than
 * single queries and upserts, over one connection, and compares them with databases that are
 * already running. Rounds of the databases alternate; each figure is the median of its rounds.
 */
import { type Dataset, readDataset } from '../dataset.ts';
import { median } from '../median.ts';
import { machineText } from '../process-figures.ts';
import { recallOf } from '../recall.ts';
import { withService } from '../temporary-service.ts';
import { Chroma } from './chroma.ts';
import type { BenchedDatabase, Condition } from './peer.ts';
import { Pgvector } from './pgvector.ts';
import { Provec } from './provec.ts';

const ROUNDS = 5;
const PAGE = 1_000;
const IDS = 100;
const QUERIES = 100;
const TOP_K = 10;
/** These match 30,166, 7,342 and 34 of the 61,666 records. */
const HALF: Condition[] = [{ field: 'arch', equals: 'all' }];
const TENTH: Condition[] = [{ field: 'installedKiB', within: [100, 180] }];
const FEW: Condition[] = [{ field: 'section', equals: 'shells' }];

/** `run` returns undefined when the peer lacks the operation. */
type Case = [name: string, run: (peer: BenchedDatabase, round: number) => Promise<unknown> | undefined];

/** Returns null when the peer lacks the operation. */
async function elapsedMs(work: () => Promise<unknown> | undefined): Promise<number | null> {
  const startedMs = performance.now();
  const running = work();
  if (running === undefined) return null;
  await running;
  return performance.now() - startedMs;
}

const shown = (ms: number): string => (ms >= 1_000 ? `${(ms / 1_000).toFixed(1)} s` : `${ms.toFixed(1)} ms`);
const row = (name: string, cells: string[]): void => console.log(`| ${name} | ${cells.join(' | ')} |`);

/** Rows whose original metadata matches. */
function rowsWhere({ metadata }: Dataset, conditions: Condition[]): number[] {
  const matches = (each: Record<string, unknown>) =>
    conditions.every(({ field, equals, within }) => {
      const value = each[field];
      return within ? (value as number) >= within[0] && (value as number) < within[1] : value === equals;
    });
  return metadata.flatMap((each, at) => (matches(each) ? [at] : []));
}

async function listAll(peer: BenchedDatabase, count: number): Promise<void> {
  let listed = 0;
  for (let afterId: string | null = null; ; ) {
    const ids: string[] = await peer.list({ afterId, offset: listed }, PAGE);
    listed += ids.length;
    if (ids.length < PAGE) break;
    afterId = ids.at(-1)!;
  }
  expectCount('list', listed, count);
}

function expectCount(what: string, got: number | null, wanted: number): void {
  if (got !== null && got !== wanted) throw new Error(`${what}: ${got} records instead of ${wanted}`);
}

async function counted(what: string, work: Promise<number | null>, wanted: number): Promise<void> {
  expectCount(what, await work, wanted);
}

function casesOf(data: Dataset): Case[] {
  const count = data.ids.length;
  const [half, tenth, few] = [HALF, TENTH, FEW].map((conditions) => rowsWhere(data, conditions)) as [
    number[],
    number[],
    number[],
  ];
  const some = (round: number) => Array.from({ length: IDS }, (_, at) => data.ids[(round * 9_973 + at * 61) % count]!);
  const vectors = (round: number) => data.queries.slice(round * QUERIES, (round + 1) * QUERIES);
  const cases: Case[] = [
    [`list all, pages of ${PAGE} with metadata`, (peer) => listAll(peer, count)],
    [
      `count where \`arch\` = all (${half.length})`,
      (peer) => peer.count && counted('count', peer.count(HALF), half.length),
    ],
    [`count of a range (${tenth.length})`, (peer) => peer.count && counted('count', peer.count(TENTH), tenth.length)],
    ['the 20 most frequent `section`s', (peer) => peer.facets?.('section', 20)],
    [`${QUERIES} queries in one request, top ${TOP_K}`, (peer, round) => peer.queries(vectors(round), TOP_K)],
    [`set a field of ${IDS} records by id`, (peer, round) => peer.updateIds(some(round), 'checked', round)],
    [
      `set a field where \`section\` = shells (${few.length})`,
      (peer, round) => peer.updateWhere && counted('update', peer.updateWhere(FEW, 'shell', round), few.length),
    ],
    [
      `set a field of a range (${tenth.length})`,
      (peer, round) => peer.updateWhere && counted('update', peer.updateWhere(TENTH, 'seen', round), tenth.length),
    ],
    [
      `delete where \`section\` = shells (${few.length})`,
      (peer) => counted('delete', peer.deleteWhere(FEW), few.length),
    ],
    ['export with vectors', (peer) => counted('export', peer.export(), count)],
  ];
  return cases;
}

async function measure(peers: BenchedDatabase[], data: Dataset): Promise<void> {
  const few = rowsWhere(data, FEW);
  for (const [name, run] of casesOf(data)) {
    const figures = peers.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, peer] of peers.entries()) {
        const ms = await elapsedMs(() => run(peer, round));
        if (ms !== null) figures[at]!.push(ms);
        if (name.startsWith('delete')) await peer.upsert(data, few);
      }
    }
    row(
      name,
      figures.map((ms) => (ms.length === 0 ? '-' : shown(median(ms)))),
    );
  }
}

/** Loads the databases one after the other, then measures them all. */
export async function benchRecords(records: number, chroma: string | undefined, pg: string | undefined): Promise<void> {
  const data = readDataset(records);
  await withService({ PROVEC_LEDGER: 'off' }, async (target) => {
    const peers: BenchedDatabase[] = [
      new Provec(target),
      ...(pg === undefined ? [] : [new Pgvector(pg)]),
      ...(chroma === undefined ? [] : [new Chroma(chroma)]),
    ];
    try {
      console.log(`${machineText()}; ${data.ids.length} records`);
      row('', await Promise.all(peers.map(async (peer) => `${peer.name} ${await peer.version()}`)));
      row(
        '---',
        peers.map(() => '---'),
      );
      const [stored, indexed]: [number[], number[]] = [[], []];
      for (const peer of peers) {
        const storedMs = (await elapsedMs(() => peer.import(data)))!;
        stored.push(storedMs);
        indexed.push(storedMs + (await elapsedMs(() => peer.indexed()))!);
      }
      row('import, until stored', stored.map(shown));
      row('import, until indexed', indexed.map(shown));
      await measure(peers, data);
      const answers = await Promise.all(peers.map((peer) => peer.queries(data.queries.slice(0, QUERIES), TOP_K)));
      row(
        `recall@${TOP_K} of the ${QUERIES} queries`,
        answers.map((ids) => recallOf(data, ids, TOP_K).toFixed(3)),
      );
    } finally {
      await Promise.all(peers.map((peer) => peer.close()));
    }
  });
}
