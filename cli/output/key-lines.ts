import type { Api } from '../../client/index.ts';
import { fieldLines, tableLines } from './table.ts';

const COLUMNS = ['id', 'name', 'key_prefix', 'scopes', 'created_at', 'expires_at', 'last_used_at'] as const;

/** Returns a table of API keys. */
export const keyLines = (keys: readonly Api.ApiKey[]): string[] =>
  tableLines(
    COLUMNS,
    keys.map((key) => COLUMNS.map((name) => (name === 'scopes' ? key.scopes.join() : key[name]))),
  );

/** Returns the lines for a new key, its secret first. */
export const newKeyLines = ({ secret, scopes, ...others }: Api.NewApiKey): string[] =>
  fieldLines({ secret, scopes: scopes.join(), ...others });
