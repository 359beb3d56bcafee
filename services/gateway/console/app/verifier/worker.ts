/** Worker of the verifier: checks one file against one node of the ledger with client/verify. */
import { expectedRecordIn } from '../../../../../client/verify/expected-record.ts';
import { parseJsonBytes } from '../../../../../client/verify/json-text.ts';
import { ledgerAccount } from '../../../../../client/verify/ledger-account.ts';
import { LedgerError, membersOf } from '../../../../../client/verify/ledger-node.ts';
import { ledgerTransaction } from '../../../../../client/verify/ledger-transaction.ts';
import type { RecordProof } from '../../../../../client/verify/record-proof.ts';
import { type TrustBasis, type Verdict, verdictOn } from '../../../../../client/verify/verdict.ts';
import { verdictOnExport } from '../../../../../client/verify/verdict-on-export.ts';
import { VerificationError } from '../../../../../client/verify/verification-error.ts';
import type { CheckMessage, CheckOutcome, CheckRequest } from './check-request.ts';

/** Maximum size of a proof: many times that of the longest path. */
const PROOF_MAX_BYTES = 1024 * 1024;
/** Maximum number of characters in a line: ten times that of the largest record. */
const LINE_MAX_CHARS = 4 * 1024 * 1024;
/** Bytes that show whether a file is an export. */
const HEAD_BYTES = 256;
const EXPORT_HEAD = /^\s*\{\s*"export"\s*:/;
/** Bytes between two messages about the progress. */
const PROGRESS_BYTES = 1024 * 1024;

const port = globalThis as unknown as {
  onmessage: ((event: { data: CheckRequest }) => void) | null;
  postMessage(message: CheckMessage): void;
};

/** An error that the reader can fix. */
class InputError extends Error {}

port.onmessage = ({ data }) => {
  outcomeOf(data).then(
    (outcome) => port.postMessage(outcome),
    (error: unknown) => port.postMessage({ kind: 'unusable', message: `The check failed: ${error}` }),
  );
};

async function outcomeOf(request: CheckRequest): Promise<CheckOutcome> {
  try {
    const { isProven, lines } = await verdictFor(request);
    return { kind: 'verdict', isProven, lines };
  } catch (error) {
    if (error instanceof LedgerError) return { kind: 'ledger', message: error.message };
    if (error instanceof InputError || error instanceof TypeError || error instanceof RangeError)
      return { kind: 'unusable', message: error.message };
    throw error;
  }
}

async function verdictFor(request: CheckRequest): Promise<Verdict> {
  const { subject, trust } = request;
  const trusted: TrustBasis =
    'root' in trust
      ? trust
      : {
          authority: trust.authority,
          readAccount: (address) => ledgerAccount(trust.node, address),
          readTransaction: (signature) => ledgerTransaction(trust.node, signature),
        };
  const pinned = request.collectionId === '' ? {} : { collectionId: request.collectionId };
  if (EXPORT_HEAD.test(await subject.slice(0, HEAD_BYTES).text())) {
    const signature = request.signature === '' ? {} : { signature: request.signature };
    return verdictOnExport(linesOf(subject), trusted, { ...pinned, ...signature });
  }
  return verdictOn(await proofIn(subject), trusted, { ...expectedOf(request), ...pinned });
}

async function proofIn(subject: Blob): Promise<RecordProof> {
  if (subject.size > PROOF_MAX_BYTES)
    throw new InputError(
      'This is neither a proof, which has less than 1 MiB, nor an export, which begins with {"export":.',
    );
  try {
    const value = parseJsonBytes(new Uint8Array(await subject.arrayBuffer()));
    return (membersOf(value).proof ?? value) as RecordProof;
  } catch (error) {
    throw new InputError(`The proof cannot be read as JSON: ${(error as Error).message}`);
  }
}

/** Returns what the proof must be about. The record and the fields beside it must not differ. */
function expectedOf({ id, namespace, record }: CheckRequest) {
  const expected = record === '' ? {} : expectedRecordIn(recordIn(record), 'The record');
  if (id !== '' && (expected.id ?? id) !== id) throw new InputError('The record is of another id than the field says.');
  if (namespace !== '' && (expected.namespace ?? namespace) !== namespace)
    throw new InputError('The record is of another namespace than the field says.');
  return { ...expected, ...(id !== '' && { id }), ...(namespace !== '' && { namespace }) };
}

function recordIn(text: string): unknown {
  try {
    return parseJsonBytes(new TextEncoder().encode(text));
  } catch (error) {
    throw new InputError(`The record cannot be read as JSON: ${(error as Error).message}`);
  }
}

/** Yields the lines of a file without reading it whole, and says how far it came. */
async function* linesOf(subject: Blob): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = subject.stream().getReader();
  let open = '';
  let bytes = 0;
  let saidBytes = 0;
  for (;;) {
    const { done, value } = await readChunk(reader);
    const lines = (open + decoded(decoder, value)).split('\n');
    open = lines.pop() ?? '';
    if (lines.some(isTooLong) || isTooLong(open))
      throw new VerificationError('malformed', `A line has more than ${LINE_MAX_CHARS} characters.`);
    yield* lines;
    if (done) break;
    bytes += value.length;
    if (bytes - saidBytes < PROGRESS_BYTES) continue;
    saidBytes = bytes;
    port.postMessage({ kind: 'progress', bytes });
  }
  if (open !== '') yield open;
}

const isTooLong = ({ length }: string): boolean => length > LINE_MAX_CHARS;

/** A file that changes or goes away while it is read cannot be read on. */
async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (error) {
    throw new InputError(`The file cannot be read: ${(error as Error).message}`);
  }
}

function decoded(decoder: TextDecoder, value: Uint8Array | undefined): string {
  try {
    return value === undefined ? decoder.decode() : decoder.decode(value, { stream: true });
  } catch {
    throw new VerificationError('malformed', 'The file is not UTF-8.');
  }
}
