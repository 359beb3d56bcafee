import { ACCOUNTS } from './accounts.ts';
import { ALIASES } from './aliases.ts';
import { AUDIT, OPERATOR_AUDIT } from './audit.ts';
import { AUDIT_LINKS } from './audit-links.ts';
import { CLUSTER } from './cluster.ts';
import { COLLECTIONS_CREATED, COLLECTIONS_MANAGED } from './collections.ts';
import type { Example } from './example.ts';
import { MEMORY } from './memory.ts';
import { OPERATOR_ACCOUNTS } from './operator-accounts.ts';
import { OPERATOR_PLANS } from './operator-plans.ts';
import { PAGES } from './pages.ts';
import { RECORDS_PROVED } from './proofs.ts';
import { RECORDS_DELETED, RECORDS_WRITTEN } from './records.ts';
import { REFUSED } from './refusals.ts';
import { RECORDS_FOUND } from './searches.ts';

/** All examples, in the order in which a fresh service gives these responses. */
export const STORY: readonly Example[] = [
  ...COLLECTIONS_CREATED,
  ...RECORDS_WRITTEN,
  ...RECORDS_FOUND,
  ...ALIASES,
  ...RECORDS_PROVED,
  ...AUDIT_LINKS,
  ...MEMORY,
  ...RECORDS_DELETED,
  ...COLLECTIONS_MANAGED,
  ...REFUSED,
  ...ACCOUNTS,
  ...AUDIT,
  ...OPERATOR_ACCOUNTS,
  ...OPERATOR_AUDIT,
  ...OPERATOR_PLANS,
  ...CLUSTER,
  ...PAGES,
];
