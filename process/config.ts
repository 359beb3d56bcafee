import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { LIMITS, type LimitName, type Limits } from '../lib/limits.ts';
import { DEFAULT_PLANS, KEYS_MAX, PLAN_NAMES, type Plans } from '../lib/plans.ts';
import { isJsonObject } from '../lib/records/fields.ts';
import { parseSecrets, SECRETS_FORMAT } from '../lib/secret/secrets-text.ts';
import {
  bearer,
  choiceSetting,
  httpUrl,
  httpUrls,
  InvalidSetting,
  integerSetting,
  invalidSetting,
  json,
  listSetting,
  mongoUrl,
  networksSetting,
  redisUrl,
  textOfFile,
  token,
} from './config-values.ts';
import { memoryLimitMiB } from './memory-limit.ts';

/** Thrown by `readConfig`. The message is one line that names the variable and what it must be. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

interface Variable {
  env: string;
  /** As printed in docs/configuration.md. */
  default: string;
  meaning: string;
  /** A secret: `<NAME>_FILE` may name a file with its value instead. */
  mayBeFile?: true;
  /** Parses the value, `undefined` if unset or empty. Throws InvalidSetting. */
  read(raw: string | undefined): unknown;
}

/** Pairs of a default and its maximum. */
const DEFAULT_LIMITS: readonly (readonly [LimitName, LimitName])[] = [
  ['topKDefault', 'topKMax'],
  ['anchorsPageDefault', 'anchorsPageMax'],
];

function readLimits(raw: string | undefined): Limits {
  if (raw === undefined) return LIMITS;
  const limits: Record<LimitName, number> = { ...LIMITS };
  const names = Object.keys(LIMITS) as LimitName[];
  for (const [given, value] of Object.entries(json(raw))) {
    const name = names.find((each) => each === given);
    if (name === undefined)
      return invalidSetting(`a JSON object with no other keys than ${names.join(', ')}, but has ${given}`);
    const most = LIMITS[name];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most)
      return invalidSetting(`a JSON object in which ${name} is a whole number from 1 to ${most}`);
    limits[name] = value;
  }
  for (const [fallback, most] of DEFAULT_LIMITS) limits[fallback] = Math.min(limits[fallback], limits[most]);
  return Object.freeze(limits);
}

function readPlans(raw: string | undefined): Plans {
  if (raw === undefined) return DEFAULT_PLANS;
  const plans: Record<string, Record<string, number | boolean | null>> = structuredClone(DEFAULT_PLANS) as never;
  for (const [plan, changes] of Object.entries(json(raw))) {
    const limits = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
    if (limits === undefined)
      return invalidSetting(`a JSON object with no other keys than ${PLAN_NAMES.join(', ')}, but has ${plan}`);
    if (!isJsonObject(changes)) return invalidSetting(`a JSON object in which ${plan} is an object`);
    for (const [name, value] of Object.entries(changes)) {
      if (!Object.hasOwn(limits, name))
        invalidSetting(
          `a JSON object in which ${plan} has only vectors, writes, queries, collections, keys, shards, anchoring`,
        );
      if (name === 'anchoring') {
        if (typeof value !== 'boolean')
          return invalidSetting(`a JSON object in which ${plan}.anchoring is true or false`);
        limits.anchoring = value;
      } else {
        if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < -1)
          return invalidSetting(`a JSON object in which ${plan}.${name} is -1 (no limit) or a whole number`);
        const limit = value === -1 ? null : value;
        limits[name] = name === 'keys' ? Math.min(limit ?? KEYS_MAX, KEYS_MAX) : limit;
      }
    }
  }
  return Object.freeze(plans) as unknown as Plans;
}

/** Every variable that the service reads; `docs/configuration.md` is generated from this table. */
export const VARIABLES = {
  host: {
    env: 'PROVEC_HOST',
    default: '127.0.0.1',
    meaning: 'Address the gateway listens on.',
    read: (raw) => raw ?? '127.0.0.1',
  },
  port: {
    env: 'PROVEC_PORT',
    default: '8080',
    meaning: 'Port the gateway listens on; 0 lets the system choose, and the first line that Provec prints names it.',
    read: integerSetting(() => 8080, 0, 65_535),
  },
  healthPort: {
    env: 'PROVEC_HEALTH_PORT',
    default: 'none',
    meaning:
      "Port on which every process, with or without a gateway, serves `/livez`, `/readyz` and `/metrics`; 0 lets the system choose. With it, `/metrics` on the gateway's port needs the operator token.",
    read: (raw) => (raw === undefined ? null : integerSetting(() => 0, 0, 65_535)(raw)),
  },
  healthHost: {
    env: 'PROVEC_HEALTH_HOST',
    default: 'that of `PROVEC_HOST`',
    meaning: 'Address of the health port.',
    read: (raw) => raw ?? null,
  },
  tlsCert: {
    env: 'PROVEC_TLS_CERT',
    default: 'none: plain HTTP',
    meaning:
      "PEM file with the gateway's certificate, followed by those that issued it; with `PROVEC_TLS_KEY` the gateway serves HTTPS. Provec reads both files again when they change.",
    read: (raw) => (raw === undefined ? null : resolve(raw)),
  },
  tlsKey: {
    env: 'PROVEC_TLS_KEY',
    default: 'none',
    meaning: 'PEM file with the private key of `PROVEC_TLS_CERT`, not encrypted.',
    read: (raw) => (raw === undefined ? null : resolve(raw)),
  },
  trustedProxies: {
    env: 'PROVEC_TRUSTED_PROXIES',
    default: 'none',
    meaning:
      "Comma-separated addresses or networks, such as `127.0.0.1,10.0.0.0/8`, of the proxies whose `X-Forwarded-For` names the client, for the audit trail and the limit of audit links; any other sender's is ignored.",
    read: (raw) => networksSetting(raw),
  },
  dataDir: {
    env: 'PROVEC_DATA_DIR',
    default: './data',
    meaning: 'Folder of the store, the embedded ledger, and the keypair and secret that the first start generates.',
    read: (raw) => resolve(raw ?? './data'),
  },
  backupDir: {
    env: 'PROVEC_BACKUP_DIR',
    default: 'none',
    meaning:
      'Folder in which `POST /admin/backups` makes backups, best on another disk; if unset, only a console makes backups. The operator token can then copy all data, and the secret, to it.',
    read: (raw) => (raw === undefined ? null : resolve(raw)),
  },
  mongoUrl: {
    env: 'PROVEC_MONGO_URL',
    default: 'none',
    meaning:
      'MongoDB that holds all data, such as `mongodb://user:password@host/provec?replicaSet=rs0`; if unset, the data folder holds it.',
    mayBeFile: true,
    read: (raw) => (raw === undefined ? null : mongoUrl(raw)),
  },
  redisUrl: {
    env: 'PROVEC_REDIS_URL',
    default: 'none',
    meaning:
      'Redis that carries calls between nodes, such as `redis://:password@host:6379`; if unset, there is one node.',
    mayBeFile: true,
    read: (raw) => (raw === undefined ? null : redisUrl(raw)),
  },
  transporter: {
    env: 'PROVEC_TRANSPORTER',
    default: 'Redis with `PROVEC_REDIS_URL`, else `none`',
    meaning:
      '`TCP` carries calls between the processes of one machine, without Redis; `none` makes this the only node.',
    read: (raw) => (raw === undefined ? null : choiceSetting(['none', 'TCP'], 'none')(raw)),
  },
  nodeId: {
    env: 'PROVEC_NODE_ID',
    default: 'host name and process id',
    meaning: 'Name of this node, unique in the cluster.',
    read: (raw) =>
      raw === undefined || /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(raw)
        ? (raw ?? null)
        : invalidSetting('1 to 128 letters, digits, dots, dashes and underscores'),
  },
  secret: {
    env: 'PROVEC_SECRET',
    default: 'those of `PROVEC_SECRET_FILE`',
    meaning: `The installation's secret, the same on every node: ${SECRETS_FORMAT}. Keys derived from the first one seal the store and what nodes send each other.`,
    read: (raw) => (raw === undefined ? null : (parseSecrets(raw) ?? invalidSetting(SECRETS_FORMAT))),
  },
  secretFile: {
    env: 'PROVEC_SECRET_FILE',
    default: '`<data dir>/secret`',
    meaning:
      "File with the installation's secret, in the form that `PROVEC_SECRET` has. A file that you name must exist; Provec generates only the one in the data folder, on the first start without MongoDB. Keep it, and a copy, apart from the data.",
    read: (raw) => (raw === undefined ? null : resolve(raw)),
  },
  bootstrapKey: {
    env: 'PROVEC_BOOTSTRAP_KEY',
    default: 'none',
    meaning:
      'API key of the first account on an empty store; if unset, Provec generates one and prints it once. A store gets only one first key.',
    mayBeFile: true,
    read: token,
  },
  bootstrapPlan: {
    env: 'PROVEC_BOOTSTRAP_PLAN',
    default: 'enterprise',
    meaning: 'Plan of the first account.',
    read: choiceSetting(PLAN_NAMES, 'enterprise'),
  },
  adminToken: {
    env: 'PROVEC_ADMIN_TOKEN',
    default: 'none',
    meaning: 'Bearer token of the operator routes under `/api/v1/admin`; if unset, they do not exist.',
    mayBeFile: true,
    read: token,
  },
  ledger: {
    env: 'PROVEC_LEDGER',
    default: 'on',
    meaning: '`off` turns anchoring off.',
    read: choiceSetting(['on', 'off'], 'on'),
  },
  solanaRpcUrls: {
    env: 'PROVEC_SOLANA_RPC_URLS',
    default: 'embedded ledger',
    meaning: 'Comma-separated Solana JSON-RPC URLs, tried in order.',
    mayBeFile: true,
    read: (raw) => (raw === undefined ? null : httpUrls(raw)),
  },
  solanaKeypair: {
    env: 'PROVEC_SOLANA_KEYPAIR',
    default: '`<data dir>/ledger-keypair.json`',
    meaning:
      'File with the authority keypair (64 numbers, as solana-keygen writes it). A file that you name must exist; Provec generates only the one in the data folder, on the first start with the embedded ledger.',
    read: (raw) => (raw === undefined ? null : resolve(raw)),
  },
  solanaCluster: {
    env: 'PROVEC_SOLANA_CLUSTER',
    default: 'custom',
    meaning:
      'Cluster named in explorer links: `custom`, `devnet`, `testnet` or `mainnet-beta`. The embedded ledger has no such links unless `PROVEC_CORS_ORIGINS` allows them.',
    read: choiceSetting(['custom', 'devnet', 'testnet', 'mainnet-beta'], 'custom'),
  },
  anchorWaitMs: {
    env: 'PROVEC_ANCHOR_WAIT_MS',
    default: '5000',
    meaning: 'Longest time that a write waits for its anchor, in milliseconds.',
    read: integerSetting(() => 5000, 0, 60_000),
  },
  publicUrl: {
    env: 'PROVEC_PUBLIC_URL',
    default: 'that of each request',
    meaning:
      'Where clients reach the service, such as `https://vectors.example.com`, behind a proxy. `/pinecone` names it as the `host` of an index.',
    read: (raw) => (raw === undefined ? null : httpUrl(raw).replace(/\/+$/, '')),
  },
  pricingUrl: {
    env: 'PROVEC_PRICING_URL',
    default: 'https://provec.dev/pricing',
    meaning: 'Page that a 429 for a plan limit points to.',
    read: (raw) => httpUrl(raw ?? 'https://provec.dev/pricing'),
  },
  statusUrl: {
    env: 'PROVEC_STATUS_URL',
    default: 'https://provec.dev/status',
    meaning: 'Page that a 500 points to.',
    read: (raw) => httpUrl(raw ?? 'https://provec.dev/status'),
  },
  memoryLimitMiB: {
    env: 'PROVEC_MEMORY_LIMIT_MB',
    default: "70 % of the machine's or cgroup's",
    meaning:
      'Memory for open shards, in MiB. Near the limit, idle shards close; at the limit, upserts, updates and imports get 507; reads and deletes continue.',
    read: integerSetting(() => Math.floor(memoryLimitMiB() * 0.7), 64, 16_777_216),
  },
  diskReserveMiB: {
    env: 'PROVEC_DISK_RESERVE_MB',
    default: '256',
    meaning:
      'Free space to reserve on the data disk, in MiB. While less is free, upserts, updates and imports get 507; deletes and reads continue and use the reserve.',
    read: integerSetting(() => 256, 0, 1_048_576),
  },
  workers: {
    env: 'PROVEC_WORKERS',
    default: 'cores - 1, at least 1',
    meaning: 'Worker threads that hold shards; a single one builds its indexes on two processors.',
    read: integerSetting(() => Math.max(1, availableParallelism() - 1), 1, 256),
  },
  limits: {
    env: 'PROVEC_LIMITS',
    default: '{}',
    meaning:
      'JSON object that lowers request limits, such as `{"topKMax": 1000}`; a maximum set below its default lowers the default too.',
    read: readLimits,
  },
  plans: {
    env: 'PROVEC_PLANS',
    default: '{}',
    meaning:
      'JSON object that changes built-in plans, such as `{"free": {"vectors": 10000}}`; -1 = no limit (of keys: 10,000). Plans that the operator stores (`provec plans`) take precedence.',
    read: readPlans,
  },
  rateLimitPerSecond: {
    env: 'PROVEC_RATE_LIMIT_PER_SECOND',
    default: '0 (off)',
    meaning: 'Requests per second and API key.',
    read: integerSetting(() => 0, 0, 1_000_000),
  },
  queryConcurrency: {
    env: 'PROVEC_QUERY_CONCURRENCY',
    default: '32',
    meaning:
      'Shard searches that a gateway runs at once; other queries wait up to 10 s for their turn, account by account. Raise it with the number of threads that hold shards.',
    read: integerSetting(() => 32, 1, 65_536),
  },
  embeddingsUrl: {
    env: 'PROVEC_EMBEDDINGS_URL',
    default: 'none',
    meaning:
      "Endpoint with the shape of OpenAI's `/v1/embeddings` that makes vectors of the texts that agents send to `/mcp`, such as `http://127.0.0.1:11434/v1/embeddings`; it gets those texts. If unset, agents send vectors.",
    read: (raw) => (raw === undefined ? null : httpUrl(raw)),
  },
  embeddingsModel: {
    env: 'PROVEC_EMBEDDINGS_MODEL',
    default: 'none',
    meaning:
      'Model that the endpoint is asked for. Its vectors must have as many numbers as the collections have dimensions.',
    read: (raw) => raw ?? null,
  },
  embeddingsKey: {
    env: 'PROVEC_EMBEDDINGS_KEY',
    default: 'none',
    meaning: 'Bearer token for the endpoint.',
    mayBeFile: true,
    read: bearer,
  },
  embeddingsPerMinute: {
    env: 'PROVEC_EMBEDDINGS_PER_MINUTE',
    default: '600',
    meaning: 'Texts that each gateway sends to the endpoint per account and minute.',
    read: integerSetting(() => 600, 1, 1_000_000),
  },
  corsOrigins: {
    env: 'PROVEC_CORS_ORIGINS',
    default: 'none (off)',
    meaning:
      'Comma-separated origins from which browsers may call; `*` for any. Pages of an origin named here may also read the embedded ledger; if one is `https://explorer.solana.com`, answers have links to it.',
    read: (raw) =>
      listSetting(raw).map((origin) =>
        origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)
          ? origin
          : invalidSetting('origins such as https://app.example.com, or *'),
      ),
  },
  logLevel: {
    env: 'PROVEC_LOG_LEVEL',
    default: 'info',
    meaning: '`trace`, `debug`, `info`, `warn`, `error` or `silent`.',
    read: choiceSetting(['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
  },
  logFormat: {
    env: 'PROVEC_LOG_FORMAT',
    default: 'auto',
    meaning: '`pretty` for people, `json` for machines; `auto` is pretty on a terminal.',
    read: choiceSetting(['auto', 'pretty', 'json'], 'auto'),
  },
} satisfies Record<string, Variable>;

type Values = { readonly [name in keyof typeof VARIABLES]: ReturnType<(typeof VARIABLES)[name]['read']> };

/** The whole configuration, checked and frozen. `VARIABLES` describes what a null field means. */
export interface Config extends Values {
  /** Path of the file that each variable's value came from, if it came from one. */
  readonly files: Readonly<Record<string, string>>;
}

/** Variables of clients and tests, which the service ignores. */
const NOT_OURS = /^PROVEC_(TEST_.*|URL|KEY|PROFILE)$/;

/** Returns the names under which a variable can be set. */
export const namesOf = ({ env, mayBeFile }: Variable): string[] => (mayBeFile ? [env, `${env}_FILE`] : [env]);

/**
 * Reads `PROVEC_*` and the files that it names. Throws ConfigError for an unknown variable or a bad
 * value, without repeating the value.
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const known = new Set(Object.values(VARIABLES).flatMap(namesOf));
  for (const name of Object.keys(environment)) {
    if (name.startsWith('PROVEC_') && !known.has(name) && !NOT_OURS.test(name)) {
      throw new ConfigError(`${name} is not a Provec variable; docs/configuration.md lists all of them.`);
    }
  }
  const files: Record<string, string> = {};
  const config: Record<string, unknown> = { files };
  for (const [field, variable] of Object.entries(VARIABLES)) {
    const given = namesOf(variable).filter((name) => environment[name]?.trim());
    if (given.length > 1) throw new ConfigError(`Only one of ${given.join(' and ')} can be set.`);
    const [name = variable.env] = given;
    const raw = environment[name]?.trim() || undefined;
    const file = name === variable.env ? null : resolve(raw!);
    if (file !== null) files[variable.env] = file;
    try {
      config[field] = variable.read(file === null ? raw : textOfFile(file));
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error;
      const { message } = error;
      throw new ConfigError(`${name} must be ${file === null ? message : `a file with ${message}: ${file}`}.`);
    }
  }
  if ((config.tlsCert === null) !== (config.tlsKey === null))
    throw new ConfigError('PROVEC_TLS_CERT and PROVEC_TLS_KEY must be set together.');
  if ((config.embeddingsUrl === null) !== (config.embeddingsModel === null))
    throw new ConfigError('PROVEC_EMBEDDINGS_URL and PROVEC_EMBEDDINGS_MODEL must be set together.');
  return Object.freeze(config) as unknown as Config;
}

/** Scheme of the gateway's own address. */
export const schemeOf = ({ tlsCert }: Pick<Config, 'tlsCert'>): 'http' | 'https' =>
  tlsCert === null ? 'http' : 'https';
