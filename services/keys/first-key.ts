import assert from 'node:assert/strict';
import type { AccountId } from '../../lib/ids.ts';
import type { PlanName } from '../../lib/plans.ts';
import { type Backoff, backoffMs } from '../../lib/time/backoff.ts';
import type { Timers } from '../../lib/time/timers.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { KeyStore } from '../../store/keys.ts';
import type { Position } from '../../store/page.ts';
import { FIRST_KEY, newAccount } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { isPossibleSecret, newSecret, secretHash } from './secret.ts';

type Parts = Pick<Runtime, 'store' | 'clock' | 'log'>;

const PAGE_ROWS = 100;
const MARK_AGAIN: Backoff = { minMs: 1_000, maxMs: 60_000 };

/**
 * Creates the account `default` with `plan` and its first key, if the store permits one. Returns
 * the key's secret: `chosen`, or a generated one, which the caller has to show before it calls
 * `recordShown`. Until then every start returns the same secret. Returns null if the first key was
 * made earlier, or if a process that starts at the same time shows it. Throws StoreError.
 */
export async function makeFirstKey(parts: Parts, plan: PlanName, chosen: string | null): Promise<string | null> {
  assert(chosen === null || isPossibleSecret(chosen));
  const { store, clock } = parts;
  const due = await store.firstKey.due();
  if (due === null) {
    await reportNoKey(parts);
    return null;
  }
  const { accountId } = due;
  const generated = newSecret(due.seed);
  const secret = chosen ?? generated;
  const [hash, ownHashes] = [secretHash(secret), [secret, generated].map(secretHash)];
  const stored = await store.keys.list(accountId);
  if (stored.some((key) => !ownHashes.includes(key.hash))) {
    await store.firstKey.setMade();
    return null;
  }
  await makeFirstAccount(parts, accountId, plan);
  const isThere =
    stored.some((key) => key.hash === hash) ||
    (await new ApiKeys(store.keys, clock).create(accountId, FIRST_KEY, stored.length + 1, secret)) !== null;
  const nowIso = new Date(clock.wallMs()).toISOString();
  for (const key of stored) if (key.hash !== hash) await store.keys.revoke(accountId, key.id, nowIso);
  if (chosen !== null) await store.firstKey.setMade();
  return isThere ? secret : null;
}

/**
 * Records in the store that the generated first key was shown. If the store fails, logs that and
 * tries again later. If the process ends first, the next start shows the same key.
 */
export async function recordShown({ store, log }: Pick<Runtime, 'store' | 'log'>, timers: Timers): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      return await store.firstKey.setMade();
    } catch (error) {
      log.warn({ err: error }, 'the store could not record that the first API key was shown; trying again');
    }
    await new Promise<void>((resolve) => timers.after(backoffMs(failures, MARK_AGAIN), resolve));
  }
}

async function makeFirstAccount({ store, clock }: Parts, id: AccountId, plan: PlanName): Promise<void> {
  // An earlier start may have been cut short, with another plan.
  if ((await store.catalog.setPlan(id, plan)) !== null) return;
  try {
    await store.catalog.createAccount(newAccount(id, 'default', plan, clock));
  } catch (error) {
    // Another process was faster. The store decides which of them creates the key.
    if ((await store.catalog.getAccount(id)) === null) throw error;
  }
}

/**
 * Logs if the store has no account or no key that opens one, since no start makes another key.
 * docs/operations.md quotes the lines.
 */
async function reportNoKey({ store, clock, log }: Parts): Promise<void> {
  let accounts = 0;
  for (let after: Position | null = null; ; ) {
    const { rows, next } = await store.catalog.accountsPage(after, PAGE_ROWS);
    for (const { id } of rows) if (await hasKey(store.keys, id, clock.wallMs())) return;
    accounts += rows.length;
    if (next === null) break;
    after = next;
  }
  if (accounts === 0)
    log.error('the store has no account, but Provec already made its first key and makes no other one');
  else
    log.warn(
      { accounts },
      'no account of the store has a key that is valid, and Provec makes no other first key: restore a backup, or set PROVEC_ADMIN_TOKEN and create a new account with POST /api/v1/admin/accounts',
    );
}

async function hasKey(keys: Pick<KeyStore, 'list'>, id: AccountId, nowMs: number): Promise<boolean> {
  const stored = await keys.list(id);
  return stored.some(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > nowMs);
}
