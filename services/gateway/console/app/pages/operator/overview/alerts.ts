import type * as Api from '../../../../../../../client/api/generated.ts';
import type { Figures } from '../../../../../../../client/metrics/figures.ts';

/** Something that the operator should look at. */
export interface Alert {
  /** `bad`: something does not work; `waiting`: it soon may not. */
  tone: 'bad' | 'waiting';
  title: string;
  /** What it means, and what to do. */
  text: string;
  /** Tab of the operator's pages that shows more. */
  tab?: string;
}

/** What a gateway's metrics say now, beside the figures that need two reads. */
export interface Levels {
  /** Requests that wait for their turn at the gateway. */
  waiting: number;
  /** Writes that wait for a shard. */
  queuedWrites: number;
  /** Records that queries scan until the index has them. */
  unindexed: number;
  /** Copies of shards that were dropped because they differed. */
  mismatches: number;
}

/** What the alerts follow from; null where nothing is known. */
export interface Observed {
  nodes: Api.ListNodesResult | null;
  /** Shards by their state, where nodes are in trouble. */
  shards: { unreachable: number; unclaimed: number } | null;
  /** The first halted collections. */
  halted: readonly Api.AnchorOverview[];
  ledger: Api.Ledger | null;
  figures: Figures | null;
  levels: Levels | null;
}

/** Share of its memory limit above which a node closes idle shards. */
const MEMORY_SHARE = 0.85;
const WAIT_MAX_SECONDS = 600;
const ERRORS_SHARE = 0.01;
const P99_MAX_MS = 1_000;
const LAG_MAX_MS = 500;
const UNINDEXED_MAX = 200_000;
const QUEUE_MAX = 1_000;
const LAMPORTS_PER_SOL = 1_000_000_000;
/** Balance below which a collection's account cannot be opened, and below which Provec warns. */
const NEEDED_LAMPORTS = 0.006 * LAMPORTS_PER_SOL;
const WANTED_LAMPORTS = 0.05 * LAMPORTS_PER_SOL;

const named = (names: readonly { node: string }[]): string => names.map(({ node }) => node).join(', ');
const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;
const verb = (count: number, one: string, many: string): string => (count === 1 ? one : many);

/** Returns what needs attention, the worst first. */
export function alertsOf(observed: Observed): Alert[] {
  const { nodes, shards, halted, ledger, figures, levels } = observed;
  const alerts = [
    ...(nodes === null ? [] : nodeAlerts(nodes)),
    ...(shards === null ? [] : shardAlerts(shards)),
    ...halted.map(haltedAlert),
    ...(figures === null ? [] : figureAlerts(figures)),
    ...(levels === null ? [] : levelAlerts(levels)),
    ...(ledger === null ? [] : ledgerAlerts(ledger)),
  ];
  return [...alerts.filter(({ tone }) => tone === 'bad'), ...alerts.filter(({ tone }) => tone !== 'bad')];
}

function nodeAlerts({ shardNodes, others }: Api.ListNodesResult): Alert[] {
  const alerts: Alert[] = [];
  const add = (tone: Alert['tone'], title: string, text: string) => alerts.push({ tone, title, text, tab: 'nodes' });
  const silent = [...shardNodes.filter(({ error }) => error !== null), ...others.filter(({ available }) => !available)];
  if (silent.length > 0)
    add(
      'bad',
      `${plural(silent.length, 'node')} ${verb(silent.length, 'does', 'do')} not answer: ${named(silent)}`,
      'Read its log, and start it again.',
    );
  const leaseless = shardNodes.filter(({ lease, draining, error }) => !lease && !draining && error === null);
  if (leaseless.length > 0)
    add(
      'bad',
      `${plural(leaseless.length, 'node')} without a lease: ${named(leaseless)}`,
      'It serves no shards. See whether it reaches the store.',
    );
  const full = shardNodes.filter(
    ({ bytes, memoryLimitBytes: limit }) => bytes !== null && limit !== null && bytes > MEMORY_SHARE * limit,
  );
  if (full.length > 0)
    add(
      'waiting',
      `Memory is nearly full: ${named(full)}`,
      'The shards take more than 85 % of the limit, and idle ones are closed. Add a node, or raise PROVEC_MEMORY_LIMIT_MB.',
    );
  const draining = shardNodes.filter(({ draining: isDraining }) => isDraining);
  if (draining.length > 0)
    add('waiting', `${named(draining)} takes no more shards`, 'It was drained. It takes shards again after a restart.');
  const versions = new Set([...shardNodes, ...others].flatMap(({ version }) => version ?? []));
  if (versions.size > 1) add('waiting', `The nodes run ${[...versions].sort().join(' and ')}`, 'Finish the upgrade.');
  return alerts;
}

function shardAlerts({ unreachable, unclaimed }: NonNullable<Observed['shards']>): Alert[] {
  const alerts: Alert[] = [];
  if (unreachable > 0)
    alerts.push({
      tone: 'bad',
      title: `${plural(unreachable, 'shard')} cannot be reached`,
      text: 'The node that holds them does not answer. Another node takes them when its lease has run out.',
      tab: 'shards',
    });
  if (unclaimed > 0)
    alerts.push({
      tone: 'waiting',
      title: `${plural(unclaimed, 'shard')} ${verb(unclaimed, 'has', 'have')} no holder`,
      text: 'A node takes a shard when it is next used.',
      tab: 'shards',
    });
  return alerts;
}

const haltedAlert = ({ collection, collectionId, haltedReason }: Api.AnchorOverview): Alert => ({
  tone: 'bad',
  title: `Anchoring is halted: contradiction in ${collection ?? collectionId}`,
  text: haltedReason ?? 'What is stored, or what is on the ledger, contradicts what Provec recorded.',
  tab: 'anchoring',
});

function figureAlerts({ rates, anchors, gateway }: Figures): Alert[] {
  const alerts: Alert[] = [];
  const waited = anchors?.oldestPendingSeconds ?? 0;
  if (waited > WAIT_MAX_SECONDS)
    alerts.push({
      tone: 'waiting',
      title: `A root has waited ${plural(Math.floor(waited / 60), 'minute')} for the ledger`,
      text: 'See whether the service reaches the ledger, and whether its authority has funds.',
      tab: 'anchoring',
    });
  if (rates !== null && rates.requests.errorsPerSecond > ERRORS_SHARE * rates.requests.perSecond)
    alerts.push({
      tone: 'bad',
      title: 'More than 1 % of the requests fail',
      text: 'The log lines “request failed” name the cause.',
    });
  if ((rates?.queries.p99Ms ?? 0) > P99_MAX_MS)
    alerts.push({
      tone: 'waiting',
      title: 'Queries are slow',
      text: 'One in a hundred takes more than a second. Look for records that are not indexed yet, and at the CPU.',
    });
  if ((gateway.eventLoopLagP99Ms ?? 0) > LAG_MAX_MS)
    alerts.push({
      tone: 'waiting',
      title: 'The gateway has too little CPU',
      text: 'Its event loop lags by more than half a second. A lag of seconds loses leases.',
    });
  return alerts;
}

function levelAlerts({ queuedWrites, unindexed, mismatches }: Levels): Alert[] {
  const alerts: Alert[] = [];
  if (mismatches > 0)
    alerts.push({
      tone: 'bad',
      title: `${plural(mismatches, 'copy', 'copies')} of shards differed from the original`,
      text: 'They were dropped and built anew. If it goes on, the memory or the disk of that node is bad: drain it.',
      tab: 'nodes',
    });
  if (queuedWrites > QUEUE_MAX)
    alerts.push({
      tone: 'waiting',
      title: `${plural(queuedWrites, 'write')} wait for a shard`,
      text: 'The store is slow, or one shard gets all writes.',
      tab: 'nodes',
    });
  if (unindexed > UNINDEXED_MAX)
    alerts.push({
      tone: 'waiting',
      title: 'The index is behind',
      text: `${plural(unindexed, 'record')} are scanned by each query until the index has them.`,
      tab: 'nodes',
    });
  return alerts;
}

function ledgerAlerts({ enabled, isEmbedded, authority, lamports }: Api.Ledger): Alert[] {
  const alert = (tone: Alert['tone'], title: string, text: string): Alert => ({ tone, title, text, tab: 'anchoring' });
  if (!enabled)
    return [
      alert(
        'waiting',
        'The ledger is off',
        'Roots are not anchored, so later proofs have no root that others can check. PROVEC_LEDGER switches anchoring on.',
      ),
    ];
  if (lamports === null)
    return [alert('waiting', 'The ledger does not answer', 'Roots wait until it does; reads and writes go on.')];
  // The embedded ledger gives its authority what it needs.
  if (isEmbedded || lamports >= WANTED_LAMPORTS) return [];
  const title = `Ledger balance is low: ${(lamports / LAMPORTS_PER_SOL).toLocaleString()} SOL`;
  const text = `Send SOL to ${authority ?? 'the authority'}, or anchors fail.`;
  return [alert(lamports < NEEDED_LAMPORTS ? 'bad' : 'waiting', title, text)];
}
