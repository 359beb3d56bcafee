import { readStoredLimits } from '../../lib/plans.ts';
import type { LogFindings } from '../../store/log-resealing.ts';
import type { SealFinding } from '../../store/resealer.ts';
import type { StoredRow } from '../../store/resealing.ts';

/** Number of findings of one kind, by state. */
type Count = Omit<LogFindings, 'refusedSeqs'>;

const KINDS = [
  'plan',
  'account',
  'collection',
  'alias',
  'API key',
  'audit entry',
  'audit link',
  'checkpoint',
  'log',
] as const;
export type Kind = (typeof KINDS)[number];
const PLURALS = {
  plan: 'plans',
  account: 'accounts',
  collection: 'collections',
  alias: 'aliases',
  'API key': 'API keys',
  'audit entry': 'audit entries',
  'audit link': 'audit links',
  checkpoint: 'checkpoints',
  log: 'log entries and heads',
};

/**
 * Counts findings and describes them to an operator, without secrets and without record contents.
 */
export class Report {
  readonly #counts = new Map<Kind, Count>();
  readonly #applied: boolean;
  /** Whether a row still bears an earlier secret's seal that should bear the current one's. */
  leavesEarlier = false;

  /** `applied`: whether this run writes seals. */
  constructor(applied: boolean) {
    this.#applied = applied;
  }

  /** Adds a finding. Returns a line to print for a refused one, else null. */
  add(finding: SealFinding): string | null {
    if (finding.what === 'row') {
      const { kind } = finding.stored;
      const { state, isRefused } = finding;
      this.leavesEarlier ||= isRefused && state === 'earlier';
      this.#count(kind, { current: 0, earlier: 0, none: 0, refused: isRefused ? 1 : 0, [state]: 1 });
      return isRefused ? `refused: ${describeRow(finding.stored)} ${whyRefused(finding)}` : null;
    }
    const { shard, found } = finding;
    this.#count('log', found);
    if (!finding.isRefused) return null;
    const seqs = found.refusedSeqs.map((seq) => (seq === null ? 'the head' : `entry ${seq}`));
    const more = found.refused > seqs.length ? ` and ${found.refused - seqs.length} more` : '';
    return `refused: in the log of shard ${shard} ${seqs.join(', ')}${more}: not sealed under a secret that was given, or damaged; stays as it is`;
  }

  /** Number of rows left without a valid seal, excluding some kinds. */
  refused(...except: Kind[]): number {
    const counted = [...this.#counts].filter(([kind]) => !except.includes(kind));
    return counted.reduce((sum, [, { refused }]) => sum + refused, 0);
  }

  /** Returns one line per kind of row. */
  lines(): string[] {
    return KINDS.map((kind) => {
      const { current, earlier, none, refused } = this.#counts.get(kind) ?? NOTHING;
      const sealed = earlier + none - refused;
      const what = `${sealed} ${this.#applied ? 'sealed anew' : 'to be sealed anew'}`;
      return `${PLURALS[kind]}: ${current} under the current secret, ${what}, ${refused} refused`;
    });
  }

  #count(kind: Kind, { current, earlier, none, refused }: Count): void {
    const before = this.#counts.get(kind) ?? NOTHING;
    this.#counts.set(kind, {
      current: before.current + current,
      earlier: before.earlier + earlier,
      none: before.none + none,
      refused: before.refused + refused,
    });
  }
}

const NOTHING: Count = { current: 0, earlier: 0, none: 0, refused: 0 };

function whyRefused({ stored, state }: SealFinding & { what: 'row' }): string {
  if (stored.kind === 'checkpoint') return 'is not trusted; its shard opens from its records';
  if (!stored.isInPlace) return 'is where it does not belong and stays as it is';
  return state === 'none' ? 'has no seal of a secret that was given and stays as it is' : 'could not be sealed';
}

/** Describes a row in terms that its owner knows. */
export function describeRow(stored: StoredRow): string {
  switch (stored.kind) {
    case 'account': {
      const { id, name, plan, createdAt } = stored.row;
      const what = stored.state === 'live' ? 'account' : 'account that is being deleted';
      return `${what} ${quoteValue(id)} name ${quoteValue(name)} plan ${quoteValue(plan)} created ${quoteValue(createdAt)}`;
    }
    case 'alias': {
      const { id, accountId, alias, collectionId, createdAt } = stored.row;
      return `alias ${quoteValue(id)} of account ${quoteValue(accountId)} name ${quoteValue(alias)} of collection ${quoteValue(collectionId)} created ${quoteValue(createdAt)}`;
    }
    case 'collection': {
      const { id, accountId, name, dimensions, metric, shards, createdAt } = stored.row;
      const what = stored.state === 'live' ? 'collection' : 'dropped collection';
      return `${what} ${quoteValue(id)} of account ${quoteValue(accountId)} name ${quoteValue(name)} dimensions ${quoteValue(dimensions)} metric ${quoteValue(metric)} shards ${quoteValue(shards)} created ${quoteValue(createdAt)}`;
    }
    case 'plan': {
      const { limits = {}, isDeleted = false } = readStoredLimits(stored.row.limits) ?? {};
      return [
        `${isDeleted ? 'deleted plan' : 'plan'} ${quoteValue(stored.row.name)}`,
        ...Object.entries(limits).map(([name, limit]) => `${name} ${limit ?? 'unlimited'}`),
      ].join(' ');
    }
    case 'API key': {
      const { id, accountId, name, prefix, scopes, createdAt } = stored.row;
      return `API key ${quoteValue(id)} of account ${quoteValue(accountId)} name ${quoteValue(name)} prefix ${quoteValue(prefix)} scopes ${quoteValue(scopes)} created ${quoteValue(createdAt)}`;
    }
    case 'audit entry':
      return `audit entry ${stored.row.seq} of the trail ${quoteValue(stored.row.trail)}`;
    case 'audit link': {
      const { id, accountId, collectionId, label, createdAt } = stored.row;
      return `audit link ${quoteValue(id)} of account ${quoteValue(accountId)} label ${quoteValue(label)} of collection ${quoteValue(collectionId)} created ${quoteValue(createdAt)}`;
    }
    case 'checkpoint':
      return `checkpoint of shard ${stored.row.shard} at ${stored.row.seq}`;
  }
}

/** A value on one line, with anything unprintable escaped. */
export function quoteValue(value: unknown): string {
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return /^[\x21-\x7e]{1,128}$/.test(text) ? text : JSON.stringify(text.slice(0, 128));
}
