/** The lines of a manifest (docs/import-manifest.md), and the checks of each. */
import { keyHashOf } from '../../client/verify/content-hash.ts';
import { hasRepeatedKey, parseJson } from '../../client/verify/json-text.ts';
import type { VerificationFailure } from '../../client/verify/verification-error.ts';

export const FORMAT = 'PM1';
const HASH = /^[0-9a-f]{64}$/;
const SIGNATURE_LINE = /^\{"signature":"([0-9a-f]{128})"\}\n$/;
const COLLECTION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface ManifestHead {
  format: typeof FORMAT;
  /** Public key: 64 hex digits. */
  signer: string;
  startedAt: string;
  source: Readonly<Record<string, string | number>>;
  options: Readonly<Record<string, unknown>>;
  target: ManifestTarget;
}

interface ManifestTarget {
  url: string;
  collection: string;
  collectionId: string;
  dimensions: number;
  metric: string;
}

export interface ManifestRecord {
  id: string;
  namespace: string;
  key: Uint8Array;
  leaf: Uint8Array;
}

export interface ManifestEnd {
  finishedAt: string;
  /** Number of records as the source counted them; null if it does not count. */
  sourceCount: number | null;
  /** Number of records with each issue that the user let the import leave out. */
  leftOut: Readonly<Record<string, number>>;
  count: number;
  vectorCount: number;
  merkleRoot: string;
  version: number;
  ledgerAddress: string | null;
  ledgerTx: string | null;
}

export type ManifestFailure = VerificationFailure | 'wrong-signer' | 'wrong-signature';

/** Thrown for a manifest that a check refuses. */
export class ManifestError extends Error {
  readonly reason: ManifestFailure;

  constructor(reason: ManifestFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Throws a ManifestError unless `holds`. */
export function demand(holds: boolean, reason: ManifestFailure, message: string): asserts holds {
  if (!holds) throw new ManifestError(reason, message);
}

export const headLine = (manifest: ManifestHead): string => `${JSON.stringify({ manifest })}\n`;

export const recordLine = ({ id, namespace, leaf }: Omit<ManifestRecord, 'key'>): string =>
  `${JSON.stringify({ id, ...(namespace !== '' && { namespace }), leaf: Buffer.from(leaf).toString('hex') })}\n`;

export const endLine = (end: ManifestEnd): string => `${JSON.stringify({ end })}\n`;

export const signatureLine = (signature: string): string => `${JSON.stringify({ signature })}\n`;

/** Returns the signature in the last line, as hex. Throws a ManifestError for any other line. */
export function signatureIn(line: string): string {
  const [, signature] = SIGNATURE_LINE.exec(line) ?? [];
  demand(signature !== undefined, 'malformed', 'It does not end with a signature: it was cut off or changed.');
  return signature;
}

/** Reads the first line. Throws a ManifestError. */
export function headIn(line: string): ManifestHead {
  const { manifest } = membersOf(parsed(line, 'Line 1'), ['manifest'], [], 'Line 1');
  const names = ['format', 'signer', 'startedAt', 'source', 'options', 'target'];
  const head = membersOf(manifest, names, [], 'Line 1');
  const target = membersOf(head.target, ['url', 'collection', 'collectionId', 'dimensions', 'metric'], [], 'Line 1');
  demand(head.format === FORMAT, 'malformed', `It is not in format ${FORMAT}.`);
  demand(isText(head.signer, HASH), 'malformed', 'signer is not 64 lower-case hex digits.');
  demand(isText(target.collectionId, COLLECTION_ID), 'malformed', 'collectionId is not a lower-case UUID.');
  return manifest as ManifestHead;
}

/** Returns the content of the second-last line; null if the line is a record. */
export function endIn(line: string, place: string): ManifestEnd | null {
  if (!line.startsWith('{"end"')) return null;
  const { end } = membersOf(parsed(line, place), ['end'], [], place);
  const counts = ['count', 'vectorCount', 'version'];
  const names = ['finishedAt', 'sourceCount', 'leftOut', 'merkleRoot', 'ledgerAddress', 'ledgerTx', ...counts];
  const members = membersOf(end, names, [], place);
  for (const name of counts)
    demand(Number.isSafeInteger(members[name]), 'malformed', `${place}: ${name} is not a whole number.`);
  demand(isText(members.merkleRoot, HASH), 'malformed', `${place}: merkleRoot is not 64 lower-case hex digits.`);
  const { ledgerTx } = members;
  demand(ledgerTx === null || typeof ledgerTx === 'string', 'malformed', `${place}: ledgerTx is not a transaction.`);
  return end as ManifestEnd;
}

/** Reads the line of a record. Throws a ManifestError. */
export function recordIn(line: string, place: string): ManifestRecord {
  const { id, namespace = '', leaf } = membersOf(parsed(line, place), ['id', 'leaf'], ['namespace'], place);
  demand(typeof id === 'string' && typeof namespace === 'string', 'malformed', `${place} is not a record.`);
  demand(isText(leaf, HASH), 'malformed', `${place}: leaf is not 64 lower-case hex digits.`);
  try {
    return { id, namespace, key: keyHashOf(id, namespace), leaf: Buffer.from(leaf, 'hex') };
  } catch (error) {
    throw new ManifestError('malformed', `${place}: ${(error as Error).message}`);
  }
}

function parsed(line: string, place: string): unknown {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    throw new ManifestError('malformed', `${place} is not JSON.`);
  }
  demand(!hasRepeatedKey(line, value), 'malformed', `${place} has a key twice in one object.`);
  return value;
}

/** Returns the members of an object that has all of `names`, and otherwise only `others`. */
function membersOf(
  value: unknown,
  names: readonly string[],
  others: readonly string[],
  place: string,
): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  demand(isObject, 'malformed', `${place} is not as a manifest has it.`);
  const missing = names.find((name) => !Object.hasOwn(value, name));
  demand(missing === undefined, 'malformed', `${place} has no ${missing}.`);
  const unknown = Object.keys(value).find((name) => !names.includes(name) && !others.includes(name));
  demand(unknown === undefined, 'malformed', `${place} has an unknown field: ${JSON.stringify(unknown)}.`);
  return value as Record<string, unknown>;
}

const isText = (value: unknown, pattern: RegExp): value is string => typeof value === 'string' && pattern.test(value);
