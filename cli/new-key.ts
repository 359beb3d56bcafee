import { type Command, Option } from 'commander';
import type { Api } from '../client/index.ts';
import { collected } from './option-values.ts';

export interface NewKeyOptions {
  scope?: string[];
  expiresAt?: string;
}

/** Adds the options of a new API key. */
export const withKeyOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--scope <scope>', 'read, write or manage; may be given several times; all by default').argParser(
        collected,
      ),
    )
    .option('--expires-at <time>', 'when it expires, in ISO 8601; never by default');

/** Returns the request for a key with these options. */
export const newKey = (name: string, { scope: scopes, expiresAt }: NewKeyOptions): Api.CreateKey =>
  ({ name, ...(scopes && { scopes }), ...(expiresAt !== undefined && { expires_at: expiresAt }) }) as Api.CreateKey;
