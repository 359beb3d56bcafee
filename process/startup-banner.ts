import type { LedgerInfo } from '../contracts/actions/anchoring.ts';
import type { Config } from './config.ts';
import { defaultSecretFile } from './secret-file.ts';

export interface Startup {
  /** Null if this process has no gateway. */
  url: string | null;
  /** Null without a health port. */
  healthUrl: string | null;
  ledger: LedgerInfo | null;
  /** The first API key, only on the first start with an empty store. */
  bootstrapSecret: string | null;
  /** Whether PROVEC_BOOTSTRAP_KEY is set but is not a key of this store. */
  isBootstrapKeyIgnored: boolean;
}

const KEY_PLACEHOLDER = '$PROVEC_KEY';
const IGNORED = 'PROVEC_BOOTSTRAP_KEY is ignored: this store already had its first key, and this key is not in it';

/**
 * Returns the text that a person needs to begin: the address, where things are, the first key (only
 * this once), and a request to paste.
 */
export function startupBanner(config: Config, startup: Startup): string {
  const { url } = startup;
  const { healthUrl, bootstrapSecret } = startup;
  const facts: [name: string, value: string | null][] = [
    ['Data folder', config.dataDir],
    ['Console', url && `${url}/console/`],
    ['Ledger', ledgerLine(startup.ledger)],
    ['Health', healthUrl && `${healthUrl}/readyz`],
    ['API key', bootstrapSecret && keyLine(config, bootstrapSecret)],
    [
      'Secret',
      isSecretMade(config, startup) ? `${defaultSecretFile(config.dataDir)}   (keep a copy apart from the data)` : null,
    ],
    ['API key', startup.isBootstrapKeyIgnored ? IGNORED : null],
  ];
  const lines = [
    url === null ? 'Provec runs without a gateway' : `Provec listens on ${url}`,
    '',
    ...facts.flatMap(([name, value]) => (value === null ? [] : `  ${name.padEnd(13)}${value}`)),
    '',
  ];
  if (url !== null) {
    const key = bearer(config, startup);
    const title =
      key === KEY_PLACEHOLDER ? 'Create a collection (PROVEC_KEY: one of your keys):' : 'Create a collection:';
    lines.push(title, '', `  ${createRequest(url, key)}`, '');
  }
  return `${lines.join('\n')}\n`;
}

/** Returns whether this first start created the secret, rather than being given one. */
function isSecretMade({ secret, secretFile, mongoUrl }: Config, { bootstrapSecret }: Startup): boolean {
  return bootstrapSecret !== null && secret === null && secretFile === null && mongoUrl === null;
}

function ledgerLine(ledger: LedgerInfo | null): string {
  if (ledger === null) return 'run by another process';
  if (!ledger.enabled) return 'off (PROVEC_LEDGER=off): roots are not anchored';
  const where = ledger.isEmbedded ? `embedded, RPC ${ledger.rpc[0]}` : ledger.rpc.join(', ');
  return `Solana, ${where}, authority ${ledger.authority}`;
}

/** A key that the operator chose is not printed, to keep it out of container logs. */
function keyLine(config: Config, secret: string): string {
  return config.bootstrapKey === null ? `${secret}   (shown only this once)` : 'as set by PROVEC_BOOTSTRAP_KEY';
}

function bearer(config: Config, { bootstrapSecret, isBootstrapKeyIgnored }: Startup): string {
  const file = config.files.PROVEC_BOOTSTRAP_KEY;
  if (config.bootstrapKey !== null && !isBootstrapKeyIgnored)
    return file === undefined ? '$PROVEC_BOOTSTRAP_KEY' : `$(cat '${file}')`;
  return bootstrapSecret ?? KEY_PLACEHOLDER;
}

function createRequest(url: string, key: string): string {
  const body = JSON.stringify({ name: 'demo', dimensions: 3 });
  return `curl -sS ${url}/api/v1/collections -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '${body}'`;
}
