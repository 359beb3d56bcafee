import { expectedRecordIn } from '../verify/expected-record.ts';
import type { RecordProof } from '../verify/record-proof.ts';
import { type TrustBasis, type Verdict, verdictOn } from '../verify/verdict.ts';
import { InputError, readJson, within } from './json-file.ts';
import { answersIn, nodeAt } from './ledger-source.ts';

/** Options that say what is trusted: a root, or an authority and where its accounts are read. */
export interface TrustOptions {
  root?: string;
  authority?: string;
  rpc?: string;
  account?: string;
  transaction?: string;
}

/** Options that say what the proof must be about. */
interface ExpectationOptions {
  collection?: string;
  id?: string;
  namespace?: string;
  record?: string;
  present?: boolean;
  absent?: boolean;
}

/** Checks the proof in a file. Rejects with an InputError for unusable options and files. */
export async function verdictOnFile(path: string, options: TrustOptions & ExpectationOptions): Promise<Verdict> {
  const { collection: collectionId, id, namespace, record, present, absent, ...sources } = options;
  if (present && absent) throw new InputError('Give --present or --absent, not both.');
  const outcome = present ? 'present' : absent ? 'absent' : undefined;
  const trusted = trustedIn(sources);
  const proof = within(await readJson(path), 'proof') as RecordProof;
  const expected = record === undefined ? {} : expectedRecordIn(await readJson(record), record);
  if (id !== undefined && (expected.id ?? id) !== id) throw new InputError(`${record} is of another id than --id.`);
  if (namespace !== undefined && (expected.namespace ?? namespace) !== namespace)
    throw new InputError(`${record} is of another namespace than --namespace.`);
  return verdictOn(proof, trusted, {
    ...expected,
    ...(id !== undefined && { id }),
    ...(namespace !== undefined && { namespace }),
    collectionId,
    outcome,
  });
}

/** Returns what the options say is trusted. Throws InputError unless they say it exactly once. */
export function trustedIn({ root, authority, rpc, account, transaction }: TrustOptions): TrustBasis {
  const isWhole = root === undefined ? authority !== undefined : authority === undefined;
  const sources = [root, rpc, account].filter((source) => source !== undefined);
  if (!isWhole || sources.length !== 1)
    throw new InputError('Give --root, or --authority with one of --rpc and --account; --help says more.');
  if (transaction !== undefined && account === undefined)
    throw new InputError('Give --transaction together with --account.');
  if (root !== undefined) return { root };
  return { authority: authority!, ...(rpc === undefined ? answersIn(account!, transaction) : nodeAt(rpc)) };
}
