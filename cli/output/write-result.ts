import type { Api } from '../../client/index.ts';
import { fieldLines } from './table.ts';

/** Returns the lines for a write: its counts, then what the collection holds now. */
export const writeResultLines = (counts: Record<string, unknown>, result: Api.WriteResult): string[] =>
  fieldLines({
    ...counts,
    vectorCount: result.vectorCount,
    version: result.version,
    merkleRoot: result.merkleRoot,
    anchor: result.anchor.status,
    ledgerTx: result.ledgerTx,
  });
