/**
 * Builds proofs that a collection contains a record, or does not.
 *
 * The path through the record's own shard always belongs to its newest commit. The other shards
 * contribute only hashes, which may come from any cut that has the record's shard at that commit:
 * from the anchored cut if possible, so that the proof leads to the root on the ledger, else from
 * the newest heads. Fails with UNAVAILABLE if writes outrun every attempt.
 */

import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { RecordProof } from '../../../contracts/actions/collections.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import { unavailable } from '../../../lib/errors.ts';
import { collectionProof, terminalShard } from '../../../lib/merkle/proof.ts';
import { type NamespacedId, storedId } from '../../../lib/records/namespace.ts';
import { collectionRoot, isSameRoot } from '../../../lib/shard/collection-root.ts';
import { type Cut, isSameSubtree, type ShardHead } from '../../../lib/shard/head.ts';
import type { ShardProof } from '../../../lib/shard/proof.ts';
import { type ShardSpec, shardSpec, shardSpecs } from '../../../lib/shard/spec.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { shardIndexOf } from '../shard-routing.ts';

const ATTEMPTS_MAX = 8;

/**
 * Proves that a record is present or absent. `isAnchored`: the collection's roots are anchored.
 * `headOf` returns a shard's newest head.
 */
export async function proveRecord(
  caller: Caller,
  row: CollectionRow,
  record: NamespacedId,
  isAnchored: boolean,
  headOf: (shard: ShardSpec) => Promise<ShardHead>,
): Promise<RecordProof> {
  const id = storedId(record.namespace, record.id);
  const index = shardIndexOf(id, row.shards);
  const collectionId = row.id;
  const ledger = isAnchored ? await call(caller, 'anchoring.address', { collectionId }) : null;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const own = await call(caller, 'shards.prove', { shard: shardSpec(row, index), id });
    const confirmed = ledger && (await call(caller, 'anchoring.state', { collectionId }))?.confirmed;
    const usable = confirmed && attempt === 0 && isSame(itemAt(confirmed.cut, index), own.head);
    const cut = usable ? confirmed.cut : await newestCut(row, own.head, index, headOf);
    const ending = await endOfPath(caller, row, cut, index, own, id);
    if (ending) {
      const { siblings, terminal } = collectionProof(cut, index, ending);
      const root = collectionRoot(cut);
      const { merkleRoot, version } = root;
      return {
        format: 'PV1',
        ...record,
        present: own.present,
        merkleRoot,
        version,
        siblings: siblings.map(({ hash }) => Buffer.from(hash).toString('hex')),
        terminal,
        collectionId,
        ledgerAddress: ledger?.address ?? null,
        ledgerTx: confirmed && isSameRoot(confirmed, root) ? confirmed.signature : null,
      };
    }
  }
  throw unavailable('The collection is being written to; try again.');
}

function isSame(a: ShardHead, b: ShardHead): boolean {
  return a.seq === b.seq && isSameSubtree(a, b);
}

function newestCut(
  row: CollectionRow,
  own: ShardHead,
  index: number,
  headOf: (shard: ShardSpec) => Promise<ShardHead>,
): Promise<Cut> {
  return Promise.all(shardSpecs(row).map((shard) => (shard.index === index ? own : headOf(shard))));
}

/**
 * Returns the proof of the shard in which the path ends: usually the record's own, else the shard
 * whose only record occupies the path. Null if that shard has changed meanwhile.
 */
async function endOfPath(
  caller: Caller,
  row: CollectionRow,
  cut: Cut,
  index: number,
  own: ShardProof,
  id: string,
): Promise<ShardProof | null> {
  const ending = terminalShard(cut, index);
  if (ending === index) return own;
  const proof = await call(caller, 'shards.prove', { shard: shardSpec(row, ending), id });
  return isSame(proof.head, itemAt(cut, ending)) ? proof : null;
}
