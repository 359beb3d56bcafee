import { createHash } from 'node:crypto';
import { LeafTable } from '../../client/verify/leaf-table.ts';
import { openInput } from '../input/read-text.ts';
import { demand, endIn, headIn, type ManifestEnd, type ManifestHead, recordIn, signatureIn } from './manifest-lines.ts';
import { isSignedBy } from './signing-key.ts';

const LINE_END = 0x0a;
/** Maximum size of a line in bytes: more than a head can have. */
const LINE_MAX_BYTES = 1024 * 1024;

/** A manifest whose form and signature are valid. */
export interface ReadManifest {
  head: ManifestHead;
  end: ManifestEnd;
  leaves: LeafTable;
}

/**
 * Reads a whole manifest. Rejects with a ManifestError unless `signer` signed exactly this content,
 * and the number of records and the root are as stated.
 */
export async function readManifest(path: string, signer: string): Promise<ReadManifest> {
  const digest = createHash('sha256');
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const leaves = new LeafTable();
  let head: ManifestHead | null = null;
  let end: ManifestEnd | null = null;
  let number = 0;
  let last: Uint8Array | null = null;
  const take = (line: Uint8Array): void => {
    digest.update(line);
    const place = `Line ${++number}`;
    demand(end === null, 'malformed', `${place} follows the end.`);
    const text = decoded(decoder, line, place);
    if (head === null) head = headIn(text);
    else end = endIn(text, place) ?? addRecord(leaves, text, place);
  };
  for await (const line of linesOf(path)) {
    if (last !== null) take(last);
    last = line;
  }
  const signature = signatureIn(last === null ? '' : decoded(decoder, last, 'The last line'));
  // TypeScript does not see that `take` assigns them.
  const whole = { head: head as ManifestHead | null, end: end as ManifestEnd | null };
  demand(whole.head !== null && whole.end !== null, 'malformed', 'It was cut off: it has no end.');
  assertSigned(whole.head, signer, digest.digest(), signature);
  assertTotals(whole.end, leaves);
  return { head: whole.head, end: whole.end, leaves };
}

function addRecord(leaves: LeafTable, text: string, place: string): null {
  const { id, key, leaf } = recordIn(text, place);
  demand(leaves.add(key, leaf), 'wrong-content', `${place}: the record ${JSON.stringify(id)} occurs twice.`);
  return null;
}

function assertSigned(head: ManifestHead, signer: string, digest: Uint8Array, signature: string): void {
  const isTrusted = head.signer === signer;
  demand(isTrusted, 'wrong-signer', `The key ${head.signer} signed it, not ${signer}.`);
  demand(isSignedBy(signer, digest, signature), 'wrong-signature', 'It was changed after it was signed.');
}

function assertTotals({ count, vectorCount, merkleRoot }: ManifestEnd, leaves: LeafTable): void {
  const isWhole = count === leaves.size && vectorCount >= count;
  demand(isWhole, 'wrong-content', `It has ${leaves.size} records, which is not the number that it states.`);
  if (count < vectorCount) return;
  demand(leaves.root() === merkleRoot, 'wrong-root', 'Its records do not give the root that it states.');
}

/** Yields the lines of a file with their ends. The last one may have none. */
async function* linesOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  let open: Buffer = Buffer.alloc(0);
  for await (const chunk of openInput(path) as AsyncIterable<Buffer>) {
    const bytes = open.length === 0 ? chunk : Buffer.concat([open, chunk]);
    let begin = 0;
    for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, begin)) {
      yield bytes.subarray(begin, at + 1);
      begin = at + 1;
    }
    open = bytes.subarray(begin);
    demand(open.length <= LINE_MAX_BYTES, 'malformed', `It has a line of over ${LINE_MAX_BYTES} bytes.`);
  }
  if (open.length > 0) yield open;
}

function decoded(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array, place: string): string {
  try {
    return decoder.decode(bytes);
  } catch {
    demand(false, 'malformed', `${place} is not UTF-8.`);
  }
}
