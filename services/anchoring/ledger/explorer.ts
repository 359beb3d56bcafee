import type { Config } from '../../../lib/config.ts';

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
  const page = `https://explorer.solana.com/${kind}/${value}`;
  if (cluster === 'mainnet-beta') return page;
  if (cluster !== 'custom' || rpcUrl === null) return `${page}?cluster=${cluster}`;
  return `${page}?cluster=custom&customUrl=${encodeURIComponent(new URL(rpcUrl).origin)}`;
}
