import type { UsageReport } from '../../../contracts/actions/metering.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import type { Api } from '../../support/api-client.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { until } from '../../support/until.ts';
import { type Item, vectorOf } from './client.ts';
import { firstUnexplained } from './linearizability.ts';
import type { LogObserver } from './log-observer.ts';
import type { Operation } from './operation.ts';
import type { Recorder } from './recorder.ts';

export interface AuditOptions {
  api: Api;
  collection: string;
  recorder: Recorder;
  observer: LogObserver;
  /** Writes and queries counted before the clients started. */
  before: { write_count: number; query_count: number };
}

interface Description {
  collection: { merkleRoot: string; vector_count: number; version: number };
}

/**
 * Checks the final state against what clients were told: every acknowledged write is present, every
 * deleted record is gone, each history is linearizable with the final state as its last reads,
 * roots match a recomputation, usage is exact, and on-chain versions only grow. Returns a sentence
 * per violation.
 */
export async function audit(options: AuditOptions): Promise<string[]> {
  const { recorder, observer } = options;
  const faults: string[] = [];
  await observer.catchUp();
  const records = await finalRecords(options, faults);
  for (const [id, operations] of recorder.operations)
    historyFaults(id, operations, records.get(id)?.metadata.value ?? null, faults);
  await aliasFaults(options, faults);
  versionFaults(recorder, faults);
  await rootFaults(options, records, faults);
  await usageFaults(options, faults);
  await anchorFaults(options, faults);
  return [...faults, ...observer.faults];
}

async function finalRecords({ api, collection, recorder }: AuditOptions, faults: string[]): Promise<Map<string, Item>> {
  const ids = [...recorder.operations.keys()];
  const { status, body } = await api<{ vectors: Record<string, Item> }>('POST', `/collections/${collection}/fetch`, {
    ids,
  });
  if (status !== 200) {
    faults.push(`the final fetch was answered with ${status} ${JSON.stringify(body)}`);
    return new Map();
  }
  for (const [id, { values, metadata }] of Object.entries(body.vectors))
    if (JSON.stringify(values) !== JSON.stringify(vectorOf(metadata.value)))
      faults.push(`${id} ends as a mixture of two writes`);
  return new Map(Object.entries(body.vectors));
}

/** `value`: final value of the record or alias. */
function historyFaults(id: string, operations: Operation[], value: string | null, faults: string[]): void {
  const end = Number.MAX_SAFE_INTEGER;
  const last = { kind: 'read', value, sent: end - 1, answered: end } as const;
  const unexplained = firstUnexplained([...operations, last]);
  if (unexplained === null) return;
  const { sent, answered } = unexplained;
  const around = operations
    .filter((one) => one.sent < (answered ?? end) && (one.answered ?? end) > sent - 200)
    .sort((a, b) => a.sent - b.sent)
    .slice(-12);
  const what = unexplained === last ? 'its final state' : JSON.stringify(unexplained);
  faults.push(`${id}: no order explains ${what} after ${JSON.stringify(around)}`);
}

async function aliasFaults({ api, recorder }: AuditOptions, faults: string[]): Promise<void> {
  const { body } = await api<{ aliases: { alias: string; collection: string }[] }>('GET', '/aliases');
  const targets = new Map(body.aliases.map(({ alias, collection }) => [alias, collection]));
  for (const [alias, operations] of recorder.aliases)
    historyFaults(`alias ${alias}`, operations, targets.get(alias) ?? null, faults);
}

/**
 * A write sent after another was answered must have the higher version. A delete of an absent
 * record may have the same version.
 */
function versionFaults({ requests }: Recorder, faults: string[]): void {
  const versioned = requests.filter(({ version }) => version !== null);
  const bySending = versioned.toSorted((a, b) => a.sent - b.sent);
  let at = 0;
  let highest = 0;
  // Requests are in the order of their responses.
  for (const { kind, sent, version } of bySending) {
    for (; at < versioned.length && versioned[at]!.answered < sent; at++)
      highest = Math.max(highest, versioned[at]!.version!);
    if (version! < highest + (kind === 'upsert' || kind === 'import' ? 1 : 0))
      faults.push(`a write got version ${version} after ${highest} had been answered`);
  }
}

async function rootFaults(
  { api, collection }: AuditOptions,
  records: Map<string, Item>,
  faults: string[],
): Promise<void> {
  const leaves = [...records].map(([id, { values, metadata }]) => referenceLeaf(id, values, metadata));
  const root = referenceRoot(leaves);
  const { body } = await api<Description>('GET', `/collections/${collection}`);
  const { merkleRoot, vector_count } = body.collection;
  if (merkleRoot !== root) faults.push(`the root is ${merkleRoot}, that of the records ${root}`);
  if (vector_count !== records.size) faults.push(`${vector_count} vectors are counted, ${records.size} are there`);
  const verified = await until('the last root is anchored', async () => {
    const answer = await api<VerifyResult>('GET', `/collections/${collection}/verify`);
    return answer.status === 200 && answer.body.state !== 'pending' && answer.body;
  });
  if (verified.state !== 'match' || verified.computedRoot !== root)
    faults.push(`verify says ${JSON.stringify(verified)}, the records give ${root}`);
}

async function usageFaults({ api, recorder, observer, before }: AuditOptions, faults: string[]): Promise<void> {
  const { body } = await api<UsageReport>('GET', '/usage');
  const writes = body.usage.write_count - before.write_count;
  const queries = body.usage.query_count - before.query_count;
  if (observer.missed === 0 && writes !== observer.writes)
    faults.push(`${writes} writes are counted, ${observer.writes} are in the log`);
  const total = (what: 'records' | 'queries', outcome: string) =>
    recorder.requests.reduce((sum, one) => sum + (one.outcome === outcome ? one[what] : 0), 0);
  const records = (outcome: string) => total('records', outcome);
  const acknowledged = records('ok');
  if (writes < acknowledged || writes > acknowledged + records('unknown'))
    faults.push(`${writes} writes are counted, ${acknowledged} acknowledged, ${records('unknown')} unknown`);
  const answered = total('queries', 'ok');
  const unanswered = total('queries', 'unknown');
  // Queries that killed nodes had taken in advance.
  const uncertain = body.query_count_uncertainty;
  if (queries < answered || queries - uncertain > answered + unanswered) {
    const counted = `${queries} queries are counted, ${uncertain} of them uncertain`;
    faults.push(`${counted}; ${answered} were answered, ${unanswered} have an unknown outcome`);
  }
  const lost = [...recorder.operations.values()]
    .flat()
    .filter(({ kind, answered, value }) => kind === 'write' && answered !== null && !observer.values.has(value!));
  // When one entry contains two writes of the same record, only the last is visible.
  if (observer.missed === 0 && lost.length > acknowledged / 10)
    faults.push(`${lost.length} acknowledged writes are not in the log`);
}

async function anchorFaults({ api, collection }: AuditOptions, faults: string[]): Promise<void> {
  const { body } = await api<{ anchors: { version: number }[] }>(
    'GET',
    `/collections/${collection}/anchors?limit=1000`,
  );
  const versions = body.anchors.map(({ version }) => version).reverse();
  if (versions.length === 0) faults.push('nothing was anchored');
  for (const [at, version] of versions.entries())
    if (at > 0 && version <= versions[at - 1]!)
      faults.push(`version ${version} was anchored after ${versions[at - 1]}`);
}
