import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { printable } from '../../client/cli/printable.ts';
import type { Api, Collection } from '../../client/index.ts';
import { EXIT } from '../exit-code.ts';
import { examples } from '../option-values.ts';
import { fieldLines, green, red, tableLines } from '../output/table.ts';
import { inSession, type Session } from '../session.ts';
import { endedVerification } from '../verification.ts';

interface VerifyOptions {
  proof?: string;
  export?: string;
  manifest?: string;
  signer?: string;
  root?: string;
  authority?: string;
  rpc?: string;
  account?: string;
  transaction?: string;
  collection?: string;
  id?: string;
  namespace?: string;
  record?: string;
  present?: true;
  absent?: true;
}

export const verifyCommand = (): Command =>
  new Command('verify')
    .description('compare a collection with the ledger; or check a kept proof, export or manifest without the service')
    .argument('[collection]', 'its name or an alias: the service recomputes the root of what it stores')
    .option('--proof <file>', 'check this proof, as provec prove wrote it')
    .option('--export <file>', 'check this export, as provec export wrote it')
    .option(
      '--manifest <file>',
      'check this manifest of provec import-from; with a collection, against that as it is now',
    )
    .option('--signer <hex>', 'with --manifest: the public key that must have signed it; your own by default')
    .option('--root <hex>', "the collection's root, from a source that you trust")
    .option('--authority <address>', 'the address that alone may write to the ledger, from a source that you trust')
    .option('--rpc <url>', 'a node of the ledger that you trust')
    .option('--account <file>', "in place of --rpc: such a node's answer to getAccountInfo (base64)")
    .option('--transaction <file>', 'with --account: its answer to getTransaction (base64, finalized)')
    .option('--collection <uuid>', 'id of the collection that it must be about')
    .option('--id <id>', 'with --proof: the record that it must be about')
    .option('--namespace <name>', 'with --proof: namespace of the record')
    .option('--record <file>', 'with --proof: content that the record must have')
    .option('--present', 'with --proof: accept only a proof of presence')
    .option('--absent', 'with --proof: accept only a proof of absence')
    .addHelpText(
      'after',
      examples(
        'provec verify notes',
        'provec prove notes a --out proof.json',
        'provec verify --proof proof.json --id a --authority "$AUTHORITY" --rpc "$LEDGER"',
        'provec export notes --out notes.ndjson',
        'provec verify --export notes.ndjson --authority "$AUTHORITY" --rpc "$LEDGER"',
        'provec import-from ndjson moved --from notes.ndjson',
        'provec verify --manifest moved.manifest --authority "$AUTHORITY" --rpc "$LEDGER"',
        'provec verify moved --manifest moved.manifest',
      ),
    )
    .action(
      inSession(async (session, name: string | undefined, options: VerifyOptions) => {
        const { proof, export: exported, manifest, ...others } = options;
        if (manifest !== undefined && proof === undefined && exported === undefined)
          return verifyManifestFile(session, manifest, name, others);
        if ([name, proof, exported, manifest].filter((each) => each !== undefined).length !== 1)
          throw new InputError('Give one of: a collection, --proof, --export, --manifest.');
        if (proof !== undefined) return verifyProofFile(session, proof, others);
        if (exported !== undefined) return verifyExportFile(session, exported, others);
        const [option] = Object.keys(others);
        if (option !== undefined) throw new InputError(`--${option} goes with --proof, --export or --manifest.`);
        return verifyOnline(session, await session.collection(name!));
      }),
    );

/** Asks the service to compare what it stores with the ledger. */
async function verifyOnline(session: Session, collection: Collection): Promise<number> {
  const { result, error } = await endedVerification(session, collection);
  if (result === undefined) throw new Error(`the verification failed: ${error?.message}`);
  await session.print(result, () => verdictLines(result));
  return result.verified ? EXIT.done : EXIT.negative;
}

function verdictLines({ differences = [], ...result }: Api.VerifyResult): string[] {
  const { verified, state, reason, vectorCount, version, anchoredVersion, computedRoot, onChainRoot } = result;
  return [
    verified ? green('VERIFIED') : red(`NOT VERIFIED  ${printable(reason ?? state)}`),
    ...fieldLines({
      state,
      vectorCount,
      version,
      anchoredVersion,
      computedRoot,
      onChainRoot,
      ledgerAddress: result.ledgerAddress,
      checkedAt: result.checkedAt,
    }),
    ...(differences.length === 0
      ? []
      : tableLines(
          ['id', 'namespace', 'what'],
          differences.map(({ id, namespace, what }) => [id, namespace, what]),
        )),
  ];
}

async function verifyProofFile(
  session: Session,
  path: string,
  options: Omit<VerifyOptions, 'proof' | 'export' | 'manifest'>,
) {
  const { signer, ...expected } = options;
  if (signer !== undefined) throw new InputError('--signer goes with --manifest.');
  const { verdictOnFile } = await import('../../client/cli/proof-file.ts');
  const { isProven, outcome, failure, lines } = await verdictOnFile(path, expected);
  await session.print({ verified: isProven, outcome, reason: failure?.reason, message: failure?.message }, () =>
    lines.map(printable),
  );
  return isProven ? EXIT.done : EXIT.negative;
}

async function verifyExportFile(
  session: Session,
  path: string,
  options: Omit<VerifyOptions, 'proof' | 'export' | 'manifest'>,
) {
  const { collection, root, authority, rpc, account, ...others } = options;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new InputError(`--${other} goes with ${other === 'signer' ? '--manifest' : '--proof'}.`);
  const { verdictOnExport } = await import('../verified-export.ts');
  const { document, lines } = await verdictOnExport(path, { root, authority, rpc, account }, collection);
  await session.print(document, () => lines.map(printable));
  return document.verified ? EXIT.done : EXIT.negative;
}

async function verifyManifestFile(
  session: Session,
  path: string,
  name: string | undefined,
  options: Omit<VerifyOptions, 'proof' | 'export' | 'manifest'>,
) {
  const { collection: collectionId, root, authority, rpc, account, transaction, signer, ...others } = options;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new InputError(`--${other} goes with --proof.`);
  const { verdictOnManifest } = await import('../manifest/verified-manifest.ts');
  const trust = { root, authority, rpc, account, transaction };
  const { document, lines } = await verdictOnManifest(session, path, {
    ...trust,
    signer,
    collectionId,
    collection: name,
  });
  await session.print(document, () => lines.map(printable));
  return document.verified ? EXIT.done : EXIT.negative;
}
