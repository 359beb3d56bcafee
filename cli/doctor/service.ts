/** Checks the service over HTTP: whether it answers, its clock, versions, nodes and anchors. */
import type { Api } from '../../client/index.ts';
import { timeText } from '../output/quantities.ts';
import { type Finding, findingsOf } from './finding.ts';

const TIMEOUT_MS = 10_000;
const SKEW_OK_MS = 2_000;
const SKEW_MAX_MS = 30_000;
/** Share of its memory limit above which a node closes idle shards. */
const MEMORY_PART = 0.85;
const WAIT_MAX_SECONDS = 600;

/** A service's answer to /readyz, with its clock. */
export interface Answer {
  status: number;
  reasons: readonly string[];
  /** How far the service's clock is ahead of this machine's, in ms; null if it sent no Date. */
  skewMs: number | null;
}

/**
 * Asks /readyz, which tells the operator why the service is not ready. Rejects if nothing answers.
 */
export async function askReadiness(url: string, token: string | null, signal: AbortSignal): Promise<Answer> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const sentMs = Date.now();
  const response = await fetch(`${url.replace(/\/+$/, '')}/readyz`, { headers, signal: limited, redirect: 'manual' });
  const receivedMs = Date.now();
  // Another server may answer with anything; its status is reported.
  const body = (await response.json().catch(() => ({}))) as { reasons?: unknown };
  const date = Date.parse(response.headers.get('date') ?? '');
  return {
    status: response.status,
    reasons: Array.isArray(body.reasons) ? body.reasons.map(String) : [],
    skewMs: Number.isNaN(date) ? null : skewOf(date, sentMs, receivedMs),
  };
}

/** Returns the smallest difference of clocks that a Date, precise to the second, allows. */
export function skewOf(dateMs: number, sentMs: number, receivedMs: number): number {
  if (dateMs > receivedMs) return dateMs - receivedMs;
  return Math.min(dateMs + 1_000 - sentMs, 0);
}

export function readinessFinding(url: string, { status, reasons }: Answer): Finding {
  const { ok, problem } = findingsOf('service');
  if (status === 200) return ok(`${url} is ready.`);
  if (status !== 503)
    return problem(`${url} answers /readyz with HTTP ${status}: is this the address of a gateway of Provec?`);
  const why = reasons.length === 0 ? 'its log says why' : reasons.join('; ');
  return problem(`${url} is not ready: ${why}.`);
}

export function clockFinding({ skewMs }: Answer): Finding {
  const { ok, warning, problem, unknown } = findingsOf('clock');
  if (skewMs === null) return unknown('The service sent no Date to compare the clock with.');
  const seconds = `${(Math.abs(skewMs) / 1_000).toFixed(1)} s`;
  const is = `The service's clock is ${seconds} ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  const remedy = 'keep both with NTP; keys expire and months end by it';
  if (Math.abs(skewMs) > SKEW_MAX_MS) return problem(`${is}: ${remedy}.`);
  return Math.abs(skewMs) > SKEW_OK_MS ? warning(`${is}: ${remedy}.`) : ok("The service's clock agrees with this one.");
}

/** `own`: version of this command. */
export function versionsFinding(own: string, { shardNodes, others }: Api.ListNodesResult): Finding {
  const { ok, warning } = findingsOf('versions');
  const versions = new Set([...shardNodes, ...others].flatMap(({ version }) => version ?? []));
  const named = [...versions].sort().join(', ');
  if (versions.size > 1) return warning(`The nodes run ${named}: finish the upgrade.`);
  if (versions.size === 1 && !versions.has(own))
    return warning(`The service runs ${named} and this command is ${own}: use the same version.`);
  return ok(`The service and this command are version ${own}.`);
}

export function nodesFinding({ shardNodes, others }: Api.ListNodesResult): Finding {
  const { ok, warning, problem } = findingsOf('nodes');
  const silent = [...shardNodes.filter(({ error }) => error !== null), ...others.filter(({ available }) => !available)];
  if (silent.length > 0) return problem(`${namesOf(silent)} did not answer: look at its log and restart it.`);
  const leaseless = shardNodes.filter(({ lease, draining }) => !lease && !draining);
  if (leaseless.length > 0)
    return problem(`${namesOf(leaseless)} has no lease and serves no shards: see whether it reaches the store.`);
  const full = shardNodes.filter(
    ({ bytes, memoryLimitBytes: limit }) => (bytes ?? 0) > MEMORY_PART * (limit ?? Infinity),
  );
  if (full.length > 0)
    return warning(`The shards of ${namesOf(full)} take more than 85 % of PROVEC_MEMORY_LIMIT_MB: add a node.`);
  const count = shardNodes.length + others.length;
  return ok(count === 1 ? 'The node answers, and has room.' : `All ${count} nodes answer, and have room.`);
}

const namesOf = (nodes: readonly { node: string }[]): string => nodes.map(({ node }) => node).join(', ');

/** Checks the first pages of halted and of waiting anchors. */
export function anchorsFinding(halted: readonly Api.AnchorOverview[], pending: readonly Api.AnchorOverview[]): Finding {
  const { ok, warning, problem } = findingsOf('anchors');
  if (halted.length > 0)
    return problem(`Anchoring of ${halted.length} or more collections is halted: run provec anchors halted.`);
  const oldest = Math.max(0, ...pending.map(({ waitingSeconds }) => waitingSeconds ?? 0));
  return oldest > WAIT_MAX_SECONDS
    ? warning(`A root has waited ${timeText(oldest)} for its anchor: see whether the service reaches the ledger.`)
    : ok('No anchor is halted, and none waits for long.');
}
