/**
 * Carries out operators' commands.
 *
 * Every step is one that nodes also take on their own. So a command that is wrong, repeated, or
 * overtaken by another only changes where shards are. Whether a node can accept a shard is checked
 * before anything is done.
 */
import { type Caller, call } from '../../contracts/actions/call.ts';
import type { ClusterActions } from '../../contracts/actions/cluster.ts';
import { isProvecError, ProvecError } from '../../lib/errors.ts';
import { shardKey } from '../../lib/shard/key.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import type { LeaseRow } from '../../store/owners.ts';
import type { Store } from '../../store/port.ts';
import type { ReferenceResolver } from './collection-reference.ts';
import { shortError } from './node-calls.ts';

/** Longest time to save a shard and open it on another node. */
const MOVE_TIMEOUT_MS = 180_000;
/** Longer than the longest drain of a node. */
const DRAIN_TIMEOUT_MS = 60_000;
const NAMED_MAX = 10;

type Result<A extends keyof ClusterActions> = Promise<ClusterActions[A]['result']>;

interface ClusterOperationsParts {
  caller: Caller;
  store: Pick<Store, 'owners' | 'leases' | 'anchors' | 'contradictions'>;
  references: ReferenceResolver;
  /** Whether calls can reach `node` now. */
  isThere(node: string): boolean;
}

export class ClusterOperations {
  readonly #parts: ClusterOperationsParts;

  constructor(parts: ClusterOperationsParts) {
    this.#parts = parts;
  }

  async move(reference: string, to: string): Result<'cluster.move'> {
    const { caller, store, references, isThere } = this.#parts;
    const { row, index } = await references.shard(reference);
    this.#refuseUnless(acceptingNodes(await store.leases.list(), isThere), to, 'take shards');
    const shard = shardKey(row.id, index);
    const from = (await store.owners.get(shard))?.holder?.node ?? null;
    const timeout = MOVE_TIMEOUT_MS;
    if (from === null || from === to) {
      await this.#order(to, () =>
        call(caller, 'shards.adopt', { shard: shardSpec(row, index) }, { nodeID: to, timeout }),
      );
    } else {
      await this.#order(from, () => call(caller, 'shards.move', { key: shard, node: to }, { nodeID: from, timeout }));
    }
    const holder = (await store.owners.get(shard))?.holder?.node ?? null;
    if (holder !== to)
      throw new ProvecError('UNAVAILABLE', `${to} did not take the shard; ${holder ?? 'no node'} holds it now.`);
    return { shard, from, to };
  }

  async drain(node: string): Result<'cluster.drain'> {
    const { caller, store, isThere } = this.#parts;
    const leases = await store.leases.list();
    const live = leases.flatMap((lease) => (isThere(lease.node) ? [lease.node] : []));
    this.#refuseUnless(live, node, 'hold shards');
    if (!acceptingNodes(leases, isThere).some((taker) => taker !== node))
      throw new ProvecError('INVALID_ARGUMENT', `No other node could take the shards of ${node}.`);
    return this.#order(node, async () => {
      await call(caller, 'shards.drain', {}, { nodeID: node, timeout: DRAIN_TIMEOUT_MS });
      const { open } = await call(caller, 'shards.stats', {}, { nodeID: node });
      return { node, left: open };
    });
  }

  async verify(account: string, name: string): Result<'cluster.verify'> {
    const { id } = await this.#parts.references.account(account);
    return call(this.#parts.caller, 'verification.verify', { accountId: id, name }, { timeout: 0 });
  }

  async resume(reference: string): Result<'cluster.resume'> {
    const { caller, store, references } = this.#parts;
    const { id } = await references.collection(reference);
    // Read through the anchoring service, whose keypair detects rows that it did not write.
    const [anchor, contradictions] = await Promise.all([
      call(caller, 'anchoring.state', { collectionId: id }),
      store.contradictions.list(id),
    ]);
    if (!anchor?.halted && contradictions.length === 0)
      throw new ProvecError('INVALID_ARGUMENT', 'The anchoring of this collection is not halted.');
    await call(caller, 'anchoring.resume', { collectionId: id }, { timeout: MOVE_TIMEOUT_MS });
    return { collectionId: id };
  }

  #refuseUnless(nodes: string[], node: string, able: string): void {
    if (nodes.includes(node)) return;
    const named = nodes.sort().slice(0, NAMED_MAX).join(', ');
    const more = nodes.length > NAMED_MAX ? ` and ${nodes.length - NAMED_MAX} more` : '';
    throw new ProvecError(
      'INVALID_ARGUMENT',
      nodes.length === 0 ? `No node can ${able} now.` : `${node} cannot ${able} now; these can: ${named}${more}.`,
    );
  }

  /** Adds the node's name to the error of a command. */
  async #order<T>(node: string, give: () => Promise<T>): Promise<T> {
    try {
      return await give();
    } catch (error) {
      if (isProvecError(error)) throw error;
      throw new ProvecError('UNAVAILABLE', `${node}: ${shortError(error)}.`, { cause: error });
    }
  }
}

function acceptingNodes(leases: LeaseRow[], isThere: (node: string) => boolean): string[] {
  return [...new Set(leases.flatMap(({ node, draining }) => (!draining && isThere(node) ? [node] : [])))];
}
