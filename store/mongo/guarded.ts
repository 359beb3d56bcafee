import type { StoredAliases } from '../aliases.ts';
import type { AnchorStore } from '../anchors.ts';
import type { StoredAudit } from '../audit.ts';
import type { StoredAuditLinks } from '../audit-links.ts';
import type { StoredCatalog } from '../catalog.ts';
import type { StoredCheckpoints } from '../checkpoints.ts';
import type { ContradictionStore } from '../contradictions.ts';
import type { StoredFirstKey } from '../first-key.ts';
import type { StoredKeys } from '../keys.ts';
import type { ShardLog } from '../log.ts';
import type { LeaseStore, OwnerStore } from '../owners.ts';
import type { StoredPlans } from '../plans.ts';
import { SHARED_READS } from '../port.ts';
import type { RecordStore } from '../records.ts';
import type { UsageStore } from '../usage.ts';
import type { Connection } from './connection.ts';

interface Parts {
  aliases: StoredAliases;
  anchors: AnchorStore;
  audit: StoredAudit;
  auditLinks: StoredAuditLinks;
  catalog: StoredCatalog;
  checkpoints: StoredCheckpoints;
  contradictions: ContradictionStore;
  firstKey: StoredFirstKey;
  keys: StoredKeys;
  leases: LeaseStore;
  log: ShardLog;
  owners: OwnerStore;
  plans: StoredPlans;
  records: RecordStore;
  usage: UsageStore;
}

/** Methods that only read, so a failure is never an unknown outcome. All others may write. */
const READS: { readonly [P in keyof Parts]: readonly (keyof Parts[P])[] } = {
  ...SHARED_READS,
  checkpoints: ['stage', 'discard', 'list', 'fetch'],
  firstKey: ['read', 'isUsed'],
  keys: [...SHARED_READS.keys, 'count'],
  log: [...SHARED_READS.log, 'audit'],
  records: [...SHARED_READS.records, 'scan'],
};
/** Methods that call `Connection.run` themselves for every page, or do not use the database. */
const UNGUARDED: { readonly [P in keyof Parts]?: readonly (keyof Parts[P])[] } = {
  anchors: ['all', 'open'],
  catalog: ['allCollections'],
  checkpoints: ['release'],
};

/** Wraps a part of the port so that each method runs through `Connection.run`. */
export function guarded<P extends keyof Parts>(connection: Connection, name: P, part: Parts[P]): Parts[P] {
  const get = (target: Parts[P], method: string): unknown => {
    const work: unknown = Reflect.get(target, method);
    if (typeof work !== 'function') return work;
    const isOf = (methods: readonly PropertyKey[] | undefined): boolean => methods?.includes(method) === true;
    if (isOf(UNGUARDED[name])) return work.bind(target);
    const isRead = isOf(READS[name]);
    const [effect, doing] = isRead ? (['read', 'reading'] as const) : (['write', 'writing'] as const);
    return (...args: unknown[]) => connection.run(effect, `${doing} ${name}`, () => work.apply(target, args));
  };
  return new Proxy(part, { get: (target, method) => get(target, String(method)) });
}
