import { hostname } from 'node:os';
import { type Config, ConfigError } from '../../process/config.ts';
import { SERVICE_NAMES } from '../../process/service-names.ts';
import type { SupervisedProcessOptions } from './supervised-process.ts';

const NODES_DEFAULT = 3;
const NODES_MAX = 32;
/** Minimum of PROVEC_MEMORY_LIMIT_MB. */
const MEMORY_MIN_MIB = 64;

type PlannedProcess = Omit<SupervisedProcessOptions, 'say'>;

export interface ClusterPlan {
  gateway: PlannedProcess;
  shardNodes: PlannedProcess[];
}

/** Reads `[--nodes <n>]`. Throws ConfigError for any other arguments. */
export function readNodes(argv: readonly string[]): number {
  const [option = '--nodes=3'] = argv;
  const [, attached] = /^--nodes(?:=(.*))?$/s.exec(option) ?? [];
  const isNamed = /^--nodes(=|$)/.test(option);
  const value = argv.length === 0 ? String(NODES_DEFAULT) : (attached ?? argv[1] ?? '');
  const most = attached === undefined ? 2 : 1;
  if (!isNamed || argv.length > most || !/^\d{1,3}$/.test(value) || Number(value) < 1 || Number(value) > NODES_MAX)
    throw new ConfigError(`Usage: npm run cluster [-- --nodes <1 to ${NODES_MAX}>]`);
  return Number(value);
}

/**
 * Plans the processes and each one's share of the machine. Throws ConfigError when calls between
 * processes are switched off.
 */
export function clusterPlan(
  config: Config,
  environment: Record<string, string | undefined>,
  nodes: number,
): ClusterPlan {
  if (config.transporter === 'none')
    throw new ConfigError('PROVEC_TRANSPORTER must be TCP or unset: the processes of a cluster call each other.');
  const usesRedis = config.transporter === null && config.redisUrl !== null;
  // Names must differ from those of every other machine on the same Redis.
  const prefix = usesRedis
    ? `${hostname()
        .replaceAll(/[^A-Za-z0-9-]/g, '-')
        .replace(/^-+/, '')}-`
    : '';
  const shared = { ...environment, PROVEC_TRANSPORTER: usesRedis ? undefined : 'TCP' };
  const part = (whole: number, least: number): string => String(Math.max(least, Math.floor(whole / nodes)));
  const process = (role: string, services: readonly string[], more: Record<string, string | undefined>) => {
    const name = prefix + role;
    return { name, services, environment: { ...shared, PROVEC_NODE_ID: name, ...more } };
  };
  return {
    gateway: process(
      'gateway',
      SERVICE_NAMES.filter((service) => service !== 'shards'),
      { PROVEC_WORKERS: '1', PROVEC_MEMORY_LIMIT_MB: String(MEMORY_MIN_MIB) },
    ),
    shardNodes: Array.from({ length: nodes }, (_, at) =>
      process(`shards-${at + 1}`, ['shards'], {
        PROVEC_WORKERS: part(config.workers, 1),
        PROVEC_MEMORY_LIMIT_MB: part(config.memoryLimitMiB, MEMORY_MIN_MIB),
        // All nodes would bind the same health port, unless the system chooses each.
        PROVEC_HEALTH_PORT: environment.PROVEC_HEALTH_PORT === '0' ? '0' : undefined,
      }),
    ),
  };
}
