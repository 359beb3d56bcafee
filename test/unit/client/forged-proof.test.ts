/**
 * Random forgeries of proofs of random records: none that misstates the records behind the root is
 * accepted.
 */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type RecordProof, VerificationError, verifyProof } from '../../../client/index.ts';
import { propertyRuns } from '../../support/effort.ts';
import { FORGERIES } from '../../support/forged-proofs.ts';
import { seed } from '../../support/seed.ts';
import { ProvingCollection } from '../lib/merkle/collection.ts';

/** Records by id, the id to check and another one, and random numbers for the forgeries. */
const situations = fc.record({
  ids: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 80 }),
  asked: fc.nat(),
  stranger: fc.string({ minLength: 1, maxLength: 8 }),
  shardBits: fc.nat({ max: 3 }),
  at: fc.nat(),
  other: fc.nat(),
  bit: fc.nat({ max: 255 }),
  hash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
});

/** The verifier's result; null when it refuses. */
function said(root: string, proof: RecordProof, id: string): 'present' | 'absent' | null {
  try {
    return verifyProof(root, proof, { id });
  } catch (error) {
    if (error instanceof VerificationError) return null;
    throw error;
  }
}

const wellFormed = (ids: string[]) => ids.filter((id) => id.isWellFormed());

test.each(Object.entries(FORGERIES))('%s is refused', (_, forge) => {
  let forged = 0;
  fc.assert(
    fc.property(situations, ({ ids, asked, stranger, shardBits, ...draw }) => {
      const records = wellFormed(ids).map((id, at) => ({ id, values: [at, 1], metadata: { at } }));
      const collection = new ProvingCollection(shardBits, records);
      const id = asked % 2 === 0 && records.length > 0 ? records[asked % records.length]!.id : stranger;
      const proof = collection.prove(id);
      expect(said(proof.merkleRoot, proof, id)).toBe(records.some((record) => record.id === id) ? 'present' : 'absent');
      const other = forge(proof, draw);
      if (JSON.stringify(other) === JSON.stringify(proof)) return;
      forged += 1;
      expect(said(proof.merkleRoot, other, id)).toBeNull();
    }),
    { seed, numRuns: propertyRuns(400) },
  );
  expect(forged).toBeGreaterThan(10);
});

test("another record's proof states nothing untrue", () => {
  fc.assert(
    fc.property(situations, fc.boolean(), ({ ids, asked, stranger, shardBits }, isRelabelled) => {
      const records = wellFormed(ids).map((id, at) => ({ id, values: [at, 1], metadata: { at } }));
      const collection = new ProvingCollection(shardBits, records);
      const known = records.length > 0 ? records[asked % records.length]!.id : 'x';
      for (const [id, from] of [
        [known, stranger],
        [stranger, known],
      ] as const) {
        const proof = collection.prove(from);
        if (id === from) continue;
        const outcome = said(proof.merkleRoot, isRelabelled ? { ...proof, id } : proof, id);
        const truth = records.some((record) => record.id === id) ? 'present' : 'absent';
        if (isRelabelled) expect([truth, null]).toContain(outcome);
        else expect(outcome).toBeNull();
      }
    }),
    { seed, numRuns: propertyRuns(400) },
  );
});
