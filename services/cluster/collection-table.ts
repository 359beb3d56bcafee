import type { Caller } from '../../contracts/actions/call.ts';
import type {
  AnchorOverview,
  CollectionInCluster,
  RowRange,
  TablePage,
  Unreachable,
} from '../../contracts/actions/cluster.ts';
import type { CollectionId } from '../../lib/ids.ts';
import type { Cut } from '../../lib/shard/head.ts';
import { parseShardKey } from '../../lib/shard/key.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { type AnchorRow, type OutboxState, outboxStateOf } from '../../store/anchors.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Store } from '../../store/port.ts';
import { openShardsOn } from './node-calls.ts';
import { RowWindow } from './paging.ts';

/** Maximum number of rows per `AnchorStore.getMany`. */
const ANCHORS_AT_ONCE = 100;

/** Returns collections of all accounts, with the memory of their open shards on `nodes`. */
export async function listCollections(
  caller: Caller,
  store: Pick<Store, 'catalog' | 'log' | 'anchors'>,
  nodes: Iterable<string>,
  slice: RowRange,
): Promise<TablePage<CollectionInCluster> & { unreachable: Unreachable[] }> {
  const { rows, next } = await sliceOfCollections(store, slice);
  const [{ held, unreachable }, anchors, accounts] = await Promise.all([
    openShardsOn(caller, nodes),
    anchorsOf(store, idsOf(rows)),
    store.catalog.listAccounts(),
  ]);
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  const bytes = new Map<string, number>();
  for (const one of held.values()) {
    const { collectionId } = parseShardKey(one.shard);
    bytes.set(collectionId, (bytes.get(collectionId) ?? 0) + one.bytes);
  }
  const described: CollectionInCluster[] = [];
  for (const row of rows) {
    let vectors = 0;
    for (const { count } of (await store.log.heads(row.id)).values()) vectors += count;
    const { id, accountId, name, shards, replicas } = row;
    const account = names.get(accountId) ?? accountId;
    const anchor = stateOf(anchors.get(id));
    described.push({ id, accountId, account, name, shards, replicas, vectors, bytes: bytes.get(id) ?? 0, anchor });
  }
  return { rows: described, next, unreachable: [...unreachable].map(([node, error]) => ({ node, error })) };
}

/** Returns the anchors of all collections, or of those with one `standing`. */
export async function anchorTable(
  store: Pick<Store, 'catalog' | 'anchors'>,
  clock: Pick<Clock, 'wallMs'>,
  standing: Exclude<OutboxState, 'settled'> | null,
  slice: RowRange,
): Promise<TablePage<AnchorOverview>> {
  const wallMs = clock.wallMs();
  if (standing === null) {
    const { rows, next } = await sliceOfCollections(store, slice);
    const anchors = await anchorsOf(store, idsOf(rows));
    return { rows: rows.map((row) => overview(row.id, row, anchors.get(row.id), wallMs)), next };
  }
  const window = new RowWindow(slice);
  const ids: string[] = [];
  for await (const page of store.anchors.open(standing)) {
    const { from, to } = window.next(page.length);
    ids.push(...page.slice(from, to).map(({ collectionId }) => collectionId));
    if (window.isOver) break;
  }
  const rows: AnchorOverview[] = [];
  const anchors = await anchorsOf(store, ids);
  for (const id of ids) rows.push(overview(id, await store.catalog.getCollection(id), anchors.get(id), wallMs));
  return { rows, next: window.nextOffset };
}

async function sliceOfCollections(
  { catalog }: Pick<Store, 'catalog'>,
  slice: RowRange,
): Promise<{ rows: CollectionRow[]; next: number | null }> {
  const window = new RowWindow(slice);
  const rows: CollectionRow[] = [];
  for await (const page of catalog.allCollections()) {
    const { from, to } = window.next(page.length);
    rows.push(...page.slice(from, to));
    if (window.isOver) break;
  }
  return { rows, next: window.nextOffset };
}

const idsOf = (rows: readonly CollectionRow[]): string[] => rows.map(({ id }) => id);

async function anchorsOf({ anchors }: Pick<Store, 'anchors'>, ids: string[]): Promise<Map<string, AnchorRow>> {
  const found = new Map<string, AnchorRow>();
  for (let at = 0; at < ids.length; at += ANCHORS_AT_ONCE) {
    const some = await anchors.getMany(ids.slice(at, at + ANCHORS_AT_ONCE));
    for (const anchor of some) found.set(anchor.collectionId, anchor);
  }
  return found;
}

function stateOf(anchor: AnchorRow | undefined): AnchorOverview['state'] {
  if (anchor === undefined) return 'none';
  if (anchor.closing) return 'closing';
  const standing = outboxStateOf(anchor);
  if (standing === 'settled') return anchor.confirmed === null ? 'none' : 'confirmed';
  return standing === 'halted' ? 'halted' : 'pending';
}

function overview(
  collectionId: CollectionId,
  row: CollectionRow | null,
  anchor: AnchorRow | undefined,
  wallMs: number,
): AnchorOverview {
  const age = (at: string | null | undefined): number | null =>
    at == null ? null : Math.max(0, Math.round((wallMs - Date.parse(at)) / 1_000));
  return {
    collectionId,
    collection: row === null ? null : `${row.accountId}/${row.name}`,
    state: stateOf(anchor),
    wantedVersion: anchor?.wanted ? versionOf(anchor.wanted) : null,
    confirmedVersion: anchor?.confirmed?.version ?? null,
    waitingSeconds: age(anchor?.wantedAt),
    confirmedAgeSeconds: age(anchor?.confirmed?.confirmedAt),
    haltedReason: anchor?.halted?.reason ?? null,
  };
}

/** Computes the version as `collectionRoot` does, without the root. */
function versionOf(cut: Cut): number {
  return cut.reduce((sum, { version }) => sum + version, 0);
}
