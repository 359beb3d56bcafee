import type { Config } from '../../../lib/config.ts';

const EXPLORER = 'https://explorer.solana.com';

/** Link to a page of Solana's explorer; null if the explorer cannot show it. */
export type ExplorerLinks = (kind: 'tx' | 'address', value: string) => string | null;

/**
 * Makes the links of a service. `rpcUrl` returns the URL of the first ledger node. The embedded
 * ledger answers only on this machine, and only pages of origins that the operator names, so it has
 * links only if the operator names the explorer's origin.
 */
export function explorerLinks(
  { solanaCluster, corsOrigins }: Pick<Config, 'solanaCluster' | 'corsOrigins'>,
  isEmbedded: boolean,
  rpcUrl: () => string | null,
): ExplorerLinks {
  if (!isEmbedded) return (kind, value) => explorerUrl(kind, value, solanaCluster, rpcUrl());
  if (!corsOrigins.includes(EXPLORER)) return () => null;
  return (kind, value) => explorerUrl(kind, value, 'custom', rpcUrl());
}

/**
 * Link to a transaction or an address in Solana's explorer. Of an RPC URL only the origin is shown:
 * its path and query may be secrets.
 */
export function explorerUrl(
  kind: 'tx' | 'address',
  value: string,
  cluster: Config['solanaCluster'],
  rpcUrl: string | null,
): string {
  const page = `${EXPLORER}/${kind}/${value}`;
  if (cluster === 'mainnet-beta') return page;
  if (cluster !== 'custom' || rpcUrl === null) return `${page}?cluster=${cluster}`;
  return `${page}?cluster=custom&customUrl=${encodeURIComponent(new URL(rpcUrl).origin)}`;
}
