import type {
  AnchorOverview,
  Backup,
  ClusterNodes,
  CollectionInCluster,
  LedgerOverview,
  ShardNodeRow,
  ShardStatus,
  TablePage,
  Unreachable,
} from '../contracts/actions/cluster.ts';
import type { VerifyResult } from '../contracts/actions/verification.ts';
import { type Column, inBytes, inNumber, inTime, printable, textTable } from './text-table.ts';

type FromNodes<Row> = TablePage<Row> & { unreachable: Unreachable[] };

/** Adds notes about omitted rows and unreachable nodes to a table. */
function withNotes(table: string, next: number | null, unreachable: readonly Unreachable[] = []): string {
  const notes = unreachable.map(({ node, error }) => `${printable(node)} could not answer: ${error}`);
  if (next !== null) notes.push(`More rows: --offset ${next}`);
  return notes.length === 0 ? table : `${table}\n\n${notes.join('\n')}`;
}

function stateOf({ error, lease, draining }: ShardNodeRow): string {
  if (error !== null) return error;
  if (!lease) return 'no lease';
  return draining ? 'draining' : 'serving';
}

const LOAD: Column<ShardNodeRow> = {
  title: 'Load',
  isNumber: true,
  cell: ({ load, workers }) => `${inNumber(load)} of ${inNumber(workers)}`,
};

export function nodesText({ shardNodes, others, omitted }: ClusterNodes): string {
  const isMeasured = shardNodes.some(({ load }) => load !== null);
  const shards = textTable(
    [
      { title: 'Shard node', cell: ({ node }) => node },
      { title: 'State', cell: stateOf },
      { title: 'Shards', isNumber: true, cell: ({ open }) => inNumber(open) },
      { title: 'Opening', isNumber: true, cell: ({ opening }) => inNumber(opening) },
      { title: 'Copies', isNumber: true, cell: ({ copies }) => inNumber(copies) },
      { title: 'Memory', isNumber: true, cell: ({ bytes }) => inBytes(bytes) },
      { title: 'Limit', isNumber: true, cell: ({ memoryLimitBytes }) => inBytes(memoryLimitBytes) },
      { title: 'Queued', isNumber: true, cell: ({ queued }) => inNumber(queued) },
      ...(isMeasured ? [LOAD] : []),
      { title: 'Version', cell: ({ version }) => version ?? '-' },
      { title: 'Uptime', isNumber: true, cell: ({ uptimeSeconds }) => inTime(uptimeSeconds) },
    ],
    shardNodes,
  );
  const rest = textTable(
    [
      { title: 'Other node', cell: ({ node }) => node },
      { title: 'State', cell: ({ available }) => (available ? 'there' : 'out of reach') },
      { title: 'Services', cell: ({ services }) => services.join(', ') || '-' },
      { title: 'Version', cell: ({ version }) => version ?? '-' },
      { title: 'Uptime', isNumber: true, cell: ({ uptimeSeconds }) => inTime(uptimeSeconds) },
    ],
    others,
  );
  const note = omitted === 0 ? '' : `\n\n${inNumber(omitted)} more nodes are not listed.`;
  return `${shards}\n\n${rest}${note}`;
}

export function shardsText({ rows, next, unreachable }: FromNodes<ShardStatus>): string {
  const follower = ({ node, lag }: ShardStatus['followers'][number]): string =>
    lag === null ? `${node} (copying)` : `${node} (${lag === 0 ? 'level' : `-${inNumber(lag)}`})`;
  const table = textTable(
    [
      { title: 'Shard', cell: ({ shard }) => shard },
      { title: 'Collection', cell: ({ collection }) => collection.slice(collection.indexOf('/') + 1) },
      { title: 'Node', cell: ({ node }) => node ?? '-' },
      { title: 'State', cell: ({ state }) => state },
      { title: 'Epoch', isNumber: true, cell: ({ epoch }) => inNumber(epoch) },
      { title: 'Seq', isNumber: true, cell: ({ seq }) => inNumber(seq) },
      { title: 'Records', isNumber: true, cell: ({ records }) => inNumber(records) },
      { title: 'Memory', isNumber: true, cell: ({ bytes }) => inBytes(bytes) },
      { title: 'Followers', cell: ({ followers }) => followers.map(follower).join(', ') || '-' },
    ],
    rows,
  );
  return withNotes(table, next, unreachable);
}

export function collectionsText({ rows, next, unreachable }: FromNodes<CollectionInCluster>): string {
  const table = textTable(
    [
      { title: 'Account', cell: ({ account }) => account },
      { title: 'Collection', cell: ({ name }) => name },
      { title: 'Id', cell: ({ id }) => id },
      { title: 'Shards', isNumber: true, cell: ({ shards }) => inNumber(shards) },
      { title: 'Copies', isNumber: true, cell: ({ replicas }) => inNumber(replicas) },
      { title: 'Vectors', isNumber: true, cell: ({ vectors }) => inNumber(vectors) },
      { title: 'Memory', isNumber: true, cell: ({ bytes }) => inBytes(bytes) },
      { title: 'Anchor', cell: ({ anchor }) => anchor },
    ],
    rows,
  );
  return withNotes(table, next, unreachable);
}

export function anchorsText({ rows, next }: TablePage<AnchorOverview>): string {
  const nameOf = ({ collection }: AnchorOverview): string =>
    collection === null ? '(deleted)' : collection.slice(collection.indexOf('/') + 1);
  const table = textTable(
    [
      { title: 'Collection', cell: nameOf },
      { title: 'Id', cell: ({ collectionId }) => collectionId },
      { title: 'State', cell: ({ state }) => state },
      { title: 'Wanted', isNumber: true, cell: ({ wantedVersion }) => inNumber(wantedVersion) },
      { title: 'Confirmed', isNumber: true, cell: ({ confirmedVersion }) => inNumber(confirmedVersion) },
      { title: 'Waiting', isNumber: true, cell: ({ waitingSeconds }) => inTime(waitingSeconds) },
      { title: 'Anchored', isNumber: true, cell: ({ confirmedAgeSeconds }) => inTime(confirmedAgeSeconds) },
      { title: 'Halted because', cell: ({ haltedReason }) => haltedReason ?? '-' },
    ],
    rows,
  );
  return withNotes(table, next);
}

export function verdictText(verdict: VerifyResult): string {
  const facts: [string, string][] = [
    ['State', verdict.state],
    ['Computed root', verdict.computedRoot],
    ['On-chain root', verdict.onChainRoot ?? '-'],
    ['Version', inNumber(verdict.version)],
    ['Anchored', inNumber(verdict.anchoredVersion)],
    ['Vectors', inNumber(verdict.vectorCount)],
    ...(verdict.reason === undefined ? [] : [['Reason', verdict.reason] as [string, string]]),
  ];
  const differences = verdict.differences ?? [];
  const shown = differences.slice(0, 20).map(({ id, what }) => `  ${printable(id)}: ${what}`);
  const more = differences.length > shown.length ? [`  and ${inNumber(differences.length - shown.length)} more`] : [];
  return [factsText(facts), ...(shown.length === 0 ? [] : ['Differences', ...shown, ...more])].join('\n');
}

export function ledgerText(ledger: LedgerOverview): string {
  if (!ledger.enabled) return 'The ledger is off (PROVEC_LEDGER=off): roots are not anchored.';
  const { account } = ledger;
  return factsText([
    ['Ledger', ledger.isEmbedded ? 'Solana, embedded' : `Solana, ${ledger.cluster}`],
    ['RPC', ledger.rpc.join(', ')],
    ['Program', ledger.program],
    ['Authority', ledger.authority ?? '-'],
    ...(account === null
      ? []
      : ([
          ['Collection', account.collectionId],
          ['Account', account.address],
          ['Explorer', account.explorerUrl ?? '-'],
        ] as [string, string][])),
  ]);
}

export function backupText({ folder, bytes, at, secrets, leftOut, outside }: Backup): string {
  const named = secrets.join(' and ');
  const kept = `It holds ${named}: keep the copy as safe as those. --without-secrets leaves ${named} out of a backup; a start on such a copy needs ${named} as well.`;
  const needs = outside.length === 0 ? [] : [`It does not hold ${outside.join(', or ')}.`];
  const first = leftOut.length === 0 ? '' : `, first put ${leftOut.join(' and ')} into it`;
  return [
    `${printable(folder)} holds the data as it was at ${at} (${inBytes(bytes)}).`,
    ...(secrets.length === 0 ? [] : [kept]),
    ...needs.map(printable),
    `To start on it${first}: PROVEC_DATA_DIR=${printable(folder)} npm start`,
  ].join('\n');
}

const factsText = (facts: readonly (readonly [string, string])[]): string =>
  facts.map(([name, value]) => `${name.padEnd(15)}${printable(value)}`).join('\n');
