import { randomUUID } from 'node:crypto';
import type { Context } from 'moleculer';
import type { AuditActor, AuditedChange, ChangeBegun, ChangeEnded } from '../../contracts/actions/audit.ts';
import type { ActionName, Actions } from '../../contracts/actions/call.ts';
import type { Origin } from '../../contracts/actions/origin.ts';
import type { Principal } from '../../contracts/actions/principal.ts';
import { ERROR_TABLE, isProvecError } from '../../lib/errors.ts';
import type { Runtime } from '../../process/runtime.ts';
import { OPERATOR_TRAIL } from '../../store/audit.ts';
import { StoreError } from '../../store/port.ts';
import { AUDITED_ACTIONS, type AuditedAction } from './audited-actions.ts';

/** Longest value, as JSON, that an entry quotes from a request. */
const QUOTED_MAX_CHARS = 1_024;
const TOO_LONG = '(too long)';
const NOT_UNICODE = '(not Unicode)';
/** How JSON.stringify writes one. */
const LONE_SURROGATE = /\\ud[89a-f]/;
const UNREADABLE = { unreadable: true };
const FIRST_SERVER_ERROR = 500;

interface CallMeta {
  principal?: Principal;
  origin?: Origin;
}

/**
 * Runs an action that changes something between two entries of an audit trail: no change is made
 * before its first entry is durable. Other actions just run. Throws StoreError if the first entry
 * cannot be written, unless only room is missing and the action frees some.
 */
export async function auditedCall<A extends ActionName>(
  { store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>,
  ctx: Context<Actions[A]['params']>,
  run: () => Promise<Actions[A]['result']> | Actions[A]['result'],
): Promise<Actions[A]['result']> {
  const action = ctx.action?.name as A;
  const audited = AUDITED_ACTIONS[action] as AuditedAction<A> | undefined;
  if (audited === undefined) return run();
  const { params } = ctx;
  const { principal, origin } = (ctx.meta ?? {}) as CallMeta;
  const actor = actorOf(ctx, principal, origin);
  const trail = actor.type === 'key' ? actor.accountId : OPERATOR_TRAIL;
  const head = { id: randomUUID(), action: audited.name };
  const now = (): string => new Date(clock.wallMs()).toISOString();
  const append = (change: AuditedChange): Promise<void> => store.audit.append(trail, { ...change });
  const end = async (ended: Pick<ChangeEnded, 'outcome' | 'code' | 'after'>): Promise<void> => {
    try {
      await append({ ...head, phase: 'end', at: now(), ...ended });
    } catch (error) {
      log.error({ err: error, change: head }, 'the outcome of a change is missing from the audit trail');
    }
  };

  const begun: ChangeBegun = {
    ...head,
    phase: 'begin',
    at: now(),
    actor,
    node: ctx.broker.nodeID,
    address: origin?.address ?? null,
    requestId: origin?.requestId ?? null,
    accountId: audited.accountId(params),
    target: audited.target === undefined ? null : String(quoted(audited.target(params))),
    asked: askedIn(params as object, audited.asked ?? []),
    before: audited.before === undefined ? null : await readable(audited.before(store, params)),
  };
  try {
    await append(begun);
  } catch (error) {
    const isFull = error instanceof StoreError && error.kind === 'capacity';
    if (!isFull || audited.freesSpace !== true) throw error;
    log.error({ err: error, change: head }, 'a change is missing from the audit trail, which is full');
  }
  try {
    const result = await run();
    await end({ outcome: 'done', code: null, after: audited.after?.(result) ?? null });
    return result;
  } catch (error) {
    const code = isProvecError(error) ? error.code : 'INTERNAL';
    const isRefused = ERROR_TABLE[code].status < FIRST_SERVER_ERROR;
    await end({ outcome: isRefused ? 'refused' : 'failed', code, after: null });
    throw error;
  }
}

function actorOf(ctx: Context<unknown>, principal?: Principal, origin?: Origin): AuditActor {
  if (origin === undefined) return { type: 'console', node: ctx.nodeID ?? ctx.broker.nodeID };
  if (origin.keyId === null || principal === undefined) return { type: 'operator' };
  return { type: 'key', accountId: principal.accountId, keyId: origin.keyId };
}

function askedIn(params: object, names: readonly string[]): object | null {
  const given = names.flatMap((name) => {
    const value: unknown = Reflect.get(params, name);
    return value === undefined ? [] : [[name, quoted(value)]];
  });
  return given.length === 0 ? null : Object.fromEntries(given);
}

/** Returns a value as plain JSON if it is short and Unicode: a console may send anything. */
function quoted(value: unknown): unknown {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined || text.length > QUOTED_MAX_CHARS) return TOO_LONG;
  return LONE_SURROGATE.test(text) ? NOT_UNICODE : JSON.parse(text);
}

/** The change itself meets the same damaged row, and decides what that means. */
async function readable(before: Promise<object | null>): Promise<object | null> {
  try {
    return await before;
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'damaged') return UNREADABLE;
    throw error;
  }
}
