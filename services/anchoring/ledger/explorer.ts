import type { Config } from '../../../process/config.ts';

const EXPLORER = 'https://explorer.solana.com';

/** Link to a page of Solana's explorer; null if the explorer cannot show it. */
export type ExplorerLinks = (kind: 'tx' | 'address', value: string) => string | null;

/**
 * Returns the link builder of a service. `rpcUrl` returns the URL of the first ledger node. The
 * embedded ledger accepts connections only from this machine, and only from pages whose origin the
 * operator allows, so it has links only if the operator allows the explorer's origin.
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
 * Returns the link to a transaction or an address in Solana's explorer. Includes only the origin of
 * an RPC URL, because its path and query may be secret.
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
