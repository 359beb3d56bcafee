/** Checks Redis, which should only carry calls, and have room for large messages. */
import { type Finding, findingsOf } from './finding.ts';

const TIMEOUT_MS = 5_000;
const MIB = 1024 * 1024;
const SETTINGS = ['save', 'appendonly', 'maxmemory', 'maxmemory-policy', 'client-output-buffer-limit'];
/** Hard and soft limits, in bytes, on what may wait for a subscriber. */
const BUFFER = { hard: 256 * MIB, soft: 128 * MIB };

/** Checks the Redis at a URL. The URL may contain a password, so no finding repeats it. */
export async function redisFindings(url: string): Promise<Finding[]> {
  const { problem, unknown } = findingsOf('redis');
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let failure: Error | undefined;
  redis.on('error', (error) => {
    failure ??= error;
  });
  try {
    await redis.connect();
    const keys = await redis.dbsize();
    // Managed servers may refuse CONFIG, which is a finding.
    const answers = await Promise.all(SETTINGS.map((name) => redis.config('GET', name).catch(() => null)));
    if (answers.includes(null))
      return [unknown('Redis does not show its settings (CONFIG GET): see its configuration.')];
    const settings = Object.fromEntries(answers.map((answer, at) => [SETTINGS[at], (answer as string[])[1] ?? '']));
    return redisSettingsFindings(settings, keys);
  } catch (error) {
    return [
      problem(
        `Redis cannot be asked (${(failure ?? (error as Error)).message}): see PROVEC_REDIS_URL and its network.`,
      ),
    ];
  } finally {
    redis.disconnect();
  }
}

/** Checks Redis settings, by name, and the number of keys it holds. */
export function redisSettingsFindings(settings: Readonly<Record<string, string>>, keys: number): Finding[] {
  const { ok, warning } = findingsOf('redis');
  const { save = '', appendonly = 'no', maxmemory = '0', 'maxmemory-policy': policy = '' } = settings;
  const [, hard = 0, soft = 0] = (/pubsub (\d+) (\d+)/.exec(settings['client-output-buffer-limit'] ?? '') ?? []).map(
    Number,
  );
  const isBelow = (limit: number, wanted: number): boolean => limit !== 0 && limit < wanted;
  const findings = [
    ...(save !== '' || appendonly !== 'no'
      ? [warning('Redis writes to its disk, which Provec does not need: set save "" and appendonly no.')]
      : []),
    ...(isBelow(hard, BUFFER.hard) || isBelow(soft, BUFFER.soft)
      ? [warning('Redis cuts off nodes that receive much: set client-output-buffer-limit pubsub 256mb 128mb 60.')]
      : []),
    ...(maxmemory !== '0' && policy !== 'noeviction'
      ? [warning(`Redis evicts keys (${policy}), though Provec keeps none: set maxmemory-policy noeviction.`)]
      : []),
    ...(keys > 0 ? [warning(`Redis holds ${keys} keys that are not Provec's: give Provec a Redis of its own.`)] : []),
  ];
  return findings.length > 0 ? findings : [ok('Redis keeps nothing, and has room for large messages.')];
}
