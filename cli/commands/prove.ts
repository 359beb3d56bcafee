import { Command } from 'commander';
import { examples } from '../option-values.ts';
import { jsonLine } from '../output/json.ts';
import { replaceFile } from '../output/replaced-file.ts';
import { write, writeError } from '../output/streams.ts';
import { inSession } from '../session.ts';

export const proveCommand = (): Command =>
  new Command('prove')
    .description('write a proof that a record is, or is not, in a collection')
    .argument('<collection>', 'its name or an alias')
    .argument('<id>', 'id of the record')
    .option('--namespace <name>', 'namespace of the record')
    .option('--out <file>', 'file for the proof; stdout by default')
    .addHelpText('after', examples('provec prove notes a --out proof.json'))
    .action(
      inSession(async (session, name: string, id: string, { namespace, out }: { namespace?: string; out?: string }) => {
        const query = { id, ...(namespace !== undefined && { namespace }) };
        const proof = await (await session.collection(name)).proof(query, session.request);
        const text = jsonLine({ proof });
        if (out === undefined) await write(text);
        else await replaceFile(out, text);
        if (proof.ledgerTx === null)
          await writeError(
            'warning: the proof names no transaction yet. To keep it, prove again when its root is anchored.',
          );
      }),
    );
