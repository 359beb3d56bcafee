import type { Api } from './api-client.ts';
import { LedgerRelay } from './ledger-relay.ts';
import { TransactionWatch } from './transaction-watch.ts';

interface Sent {
  id: unknown;
  method: string;
  params: [wire: string];
}

/**
 * A ledger with every transaction watched. `isLost` picks transactions by their number, from 1;
 * those are accepted and then lost when first sent, as on a real network.
 */
export async function watchedLedger(
  isLost: (number: number) => boolean = () => false,
): Promise<{ relay: LedgerRelay; watch: TransactionWatch }> {
  const relay = await LedgerRelay.open();
  const watch = new TransactionWatch(relay.ledgerUrl, await relay.client('authority'));
  const passed = new Set<string>();
  relay.intercept = ({ asked, forward }) => {
    const { id, method, params } = JSON.parse(asked) as Sent;
    if (method !== 'sendTransaction') return forward();
    return watch.pass(params[0], async (signature) => {
      if (passed.has(signature)) return forward();
      passed.add(signature);
      return isLost(passed.size) ? JSON.stringify({ jsonrpc: '2.0', id, result: signature }) : forward();
    });
  };
  return { relay, watch };
}

/**
 * Creates `count` watched collections of 2 dimensions, every other one with two shards. Returns
 * their ids by name.
 */
export async function watchedCollections(
  api: Api,
  watch: TransactionWatch,
  count: number,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let at = 0; at < count; at++) {
    const name = `c${at}`;
    const { body } = await api<{ collection: { id: string } }>('POST', '/collections', {
      name,
      dimensions: 2,
      shards: 1 + (at % 2),
    });
    ids.set(name, body.collection.id);
    await watch.add(body.collection.id);
  }
  return ids;
}
