import type { RecordProof } from '../../../../contracts/actions/collections.ts';
import { REST } from '../rest-routes.ts';
import { NAMESPACE, TEXT } from './schemas.ts';
import { answerOf, type Tool } from './tool.ts';

export const proveTool: Tool = {
  name: 'prove',
  description:
    'Prove that a record is, or is not, in a collection. Saved as a file, the first text is what provec-verify checks.',
  access: 'read',
  properties: { id: TEXT, namespace: NAMESPACE },
  required: ['id'],
  hints: {},
  run(args, calls) {
    const query = { id: args.string('id'), namespace: args.string('namespace') };
    return calls.call(REST.proof, {
      target: args.collection,
      query,
      answer: (proof) => answerOf(JSON.stringify({ proof }), meaningOf(proof)),
    });
  },
};

function meaningOf({ present, ledgerTx }: RecordProof): string {
  const claim = `The proof says that the record is ${present ? 'present' : 'absent'}.`;
  if (ledgerTx === null)
    return `${claim} Its root is not on the ledger yet. To keep the proof, ask for it again when the anchor is confirmed.`;
  return `${claim} Check it without this service: provec-verify proof.json --authority <address> --rpc <url>`;
}
