import { InputError } from '../../client/cli/json-file.ts';
import type { ProvecOperator } from '../../client/index.ts';
import type { MetricsPage } from '../../client/metrics/metrics-page.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { type Finding, findingsOf } from './finding.ts';
import { ledgerFindings } from './ledger.ts';
import { diskFinding, filesFinding, nodeFinding, secretsFinding } from './machine.ts';
import { mongoFinding } from './mongo.ts';
import { redisFindings } from './redis.ts';
import {
  type Answer,
  anchorsFinding,
  askReadiness,
  clockFinding,
  nodesFinding,
  readinessFinding,
  versionsFinding,
} from './service.ts';
import type { ServiceSettings } from './service-settings.ts';
import { tlsFinding } from './transport-security.ts';

export interface Subject {
  url: string;
  settings: ServiceSettings;
  /** Version of this command. */
  version: string;
  /** Null without an admin token. */
  access: { operator: ProvecOperator; token: string } | null;
  signal: AbortSignal;
}

/** Runs all checks, starting with this machine. Reports a check that fails as a finding. */
export async function examine(subject: Subject): Promise<Finding[]> {
  const { settings, signal, url } = subject;
  // Without metrics, the checks that need them are skipped.
  const metrics = await readMetrics(url, subject.access?.token ?? null, signal).catch(() => null);
  signal.throwIfAborted();
  return [
    nodeFinding(process.versions.node),
    ...(await machineFindings(settings, metrics)),
    await tlsFinding(url, signal),
    ...(await serviceFindings(subject)),
    ...(await storeFindings(settings)),
  ];
}

const machineFindings = (settings: ServiceSettings, metrics: MetricsPage | null): Promise<Finding[]> =>
  Promise.all([diskFinding(settings), filesFinding(metrics), secretsFinding(settings)]);

async function serviceFindings(subject: Subject): Promise<Finding[]> {
  const { url, access, signal } = subject;
  let answer: Answer;
  try {
    answer = await askReadiness(url, access?.token ?? null, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    const start = 'start it, or give its address with --url';
    return [findingsOf('service').problem(`${url} does not answer (${why}): ${start}.`)];
  }
  return [readinessFinding(url, answer), clockFinding(answer), ...(await operatorFindings(subject))];
}

/** Runs the checks that need the operator's API. */
async function operatorFindings(subject: Subject): Promise<Finding[]> {
  const { access, signal } = subject;
  const { unknown, problem } = findingsOf('operator');
  if (access === null)
    return [
      unknown(
        'Without the admin token, nodes, versions, anchors and the ledger are not checked: set PROVEC_ADMIN_TOKEN.',
      ),
    ];
  try {
    return await askOperator(subject, access.operator);
  } catch (error) {
    signal.throwIfAborted();
    return [problem(`The operator's API could not be asked: ${(error as Error).message}`)];
  }
}

async function askOperator(subject: Subject, operator: ProvecOperator): Promise<Finding[]> {
  const { signal, version } = subject;
  const request = { signal, retryForMs: 0 };
  const nodes = await operator.listNodes(request);
  const halted = await operator.listAnchors({ state: 'halted' }, request).page();
  const pending = await operator.listAnchors({ state: 'pending' }, request).page();
  const ledger = await operator.getLedger({}, request);
  return [
    versionsFinding(version, nodes),
    nodesFinding(nodes),
    anchorsFinding(halted.anchors, pending.anchors),
    ...(await ledgerFindings(ledger, await ledgerUrls(subject), signal)),
  ];
}

async function ledgerUrls({ settings }: Subject): Promise<string[]> {
  const urls = await settings.secret('PROVEC_SOLANA_RPC_URLS');
  return urls?.split(',').map((url) => url.trim()) ?? [];
}

/** Checks MongoDB and Redis, whose addresses only the service's settings contain. */
async function storeFindings(settings: ServiceSettings): Promise<Finding[]> {
  const asked = async (
    name: string,
    variable: string,
    ask: (url: string) => Promise<Finding[]>,
  ): Promise<Finding[]> => {
    const { unknown, problem } = findingsOf(name);
    try {
      const url = await settings.secret(variable);
      return url === undefined
        ? [unknown(`${variable} is not set on this machine, so it was not asked.`)]
        : await ask(url);
    } catch (error) {
      if (error instanceof InputError) return [problem(error.message)];
      throw error;
    }
  };
  const [mongo, redis] = await Promise.all([
    asked('mongodb', 'PROVEC_MONGO_URL', async (url) => [await mongoFinding(url)]),
    asked('redis', 'PROVEC_REDIS_URL', redisFindings),
  ]);
  return [...mongo, ...redis];
}
