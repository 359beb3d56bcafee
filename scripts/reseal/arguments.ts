/** Options of `npm run reseal`. */
export interface ResealOptions {
  apply: boolean;
  lost: boolean;
  withoutLedger: boolean;
  keepKeys: boolean;
  /** The account to create a key for; null for none. */
  newKey: string | null;
}

export const RESEAL_USAGE =
  'Usage: npm run reseal [-- [--lost [--without-ledger] [--keep-keys]] [--apply]], or npm run reseal -- --new-key <account id>';

/** Throws an error whose message is one line for the operator. */
export function readArguments(argv: readonly string[]): ResealOptions {
  const [option, account] = argv;
  if (option === '--new-key' && account !== undefined && argv.length === 2)
    return { apply: false, lost: false, withoutLedger: false, keepKeys: false, newKey: account };
  const known = ['--apply', '--lost', '--without-ledger', '--keep-keys'];
  const has = (name: string): boolean => argv.includes(name);
  const isOfLost = has('--without-ledger') || has('--keep-keys');
  if (!argv.every((each) => known.includes(each)) || (isOfLost && !has('--lost'))) throw new Error(RESEAL_USAGE);
  return {
    apply: has('--apply'),
    lost: has('--lost'),
    withoutLedger: has('--without-ledger'),
    keepKeys: has('--keep-keys'),
    newKey: null,
  };
}
