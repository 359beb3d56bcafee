import type { Api } from '../../client/index.ts';
import type { Figures } from '../../client/metrics/figures.ts';
import { nodeLines } from '../commands/nodes.ts';
import { bytesText, timeText } from '../output/quantities.ts';
import { fieldLines } from '../output/table.ts';

/** Figures and nodes at one moment. With --json, each is a line. */
export type TopDocument = { at: string } & Figures & Api.ListNodesResult;

type Rates = NonNullable<Figures['rates']>;

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
const inMs = (value: number | null): string => (value === null ? '-' : `${number(value)} ms`);
const requestText = ({ perSecond, p50Ms, p99Ms }: Rates['queries']): string =>
  `${number(perSecond)}/s, p50 ${inMs(p50Ms)}, p99 ${inMs(p99Ms)}`;

const anchorsText = (anchors: Figures['anchors']): string =>
  anchors === null
    ? 'unknown'
    : `${anchors.pending} waiting, oldest ${timeText(anchors.oldestPendingSeconds)}, ${anchors.halted} halted`;

/** Returns what is redrawn on a terminal. */
export const screenLines = ({ at, rates, anchors, gateway, ...nodes }: TopDocument, url: string): string[] => [
  ...fieldLines({
    service: `${url}  ${at}`,
    queries: rates === null ? '' : requestText(rates.queries),
    upserts: rates === null ? '' : requestText(rates.upserts),
    requests:
      rates === null
        ? ''
        : `${number(rates.requests.perSecond)}/s, ${number(rates.requests.errorsPerSecond)}/s with 5xx`,
    anchors: anchorsText(anchors),
    gateway: `memory ${bytesText(gateway.memoryBytes)}, event loop's lag p99 ${inMs(gateway.eventLoopLagP99Ms)}`,
  }),
  '',
  ...nodeLines(nodes),
];

/** Returns the same in one line, for a file or a pipe. */
export function plainLine({ at, rates, anchors, shardNodes }: TopDocument): string {
  const answering = shardNodes.filter(({ error }) => error === null);
  const total = (name: 'bytes' | 'memoryLimitBytes'): number =>
    answering.reduce((sum, node) => sum + (node[name] ?? 0), 0);
  const parts = [
    at,
    rates === null ? 'queries -' : `queries ${requestText(rates.queries)}`,
    rates === null ? 'upserts -' : `upserts ${requestText(rates.upserts)}`,
    `shard nodes ${answering.length} of ${shardNodes.length}`,
    `memory ${bytesText(total('bytes'))} of ${bytesText(total('memoryLimitBytes'))}`,
    `anchors ${anchorsText(anchors)}`,
  ];
  return parts.join('  ');
}
