import type { AnchoringActions } from './anchoring.ts';
import type { ClusterActions } from './cluster.ts';
import type { CollectionsActions } from './collections.ts';
import type { KeysActions } from './keys.ts';
import type { MeteringActions } from './metering.ts';
import type { ShardsActions } from './shards.ts';
import type { VerificationActions } from './verification.ts';

/** Every action that one service may call on another: `{ params, result }` by full action name. */
export interface Actions
  extends AnchoringActions,
    ClusterActions,
    CollectionsActions,
    KeysActions,
    MeteringActions,
    ShardsActions,
    VerificationActions {}

export type ActionName = keyof Actions;

/** The part of a Moleculer broker or context that calls need. Domain code depends on this alone. */
export interface Caller {
  /** Metadata passed on with every call of the same request. */
  readonly meta?: object;
  /** Aborts when the results of the calls are no longer needed. */
  readonly signal?: AbortSignal;
  call(action: string, params?: unknown, options?: Record<string, unknown>): Promise<unknown>;
}

/** Calls an action with its parameter and result types. */
export function call<N extends ActionName>(
  caller: Caller,
  action: N,
  params: Actions[N]['params'],
  options?: Record<string, unknown>,
): Promise<Actions[N]['result']> {
  return caller.call(action, params, options) as Promise<Actions[N]['result']>;
}
