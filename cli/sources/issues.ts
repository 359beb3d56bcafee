/** What a source's records may contain that Provec does not support, or refuses. */

/** What is lost if the user allows the import to leave it out. */
type Loss = 'record' | 'part';

/** Each reads: "N records with ...". */
const ISSUES = {
  'no-vector': { what: 'no vector', loses: 'record' },
  'other-dimensions': { what: 'a vector of another length', loses: 'record' },
  'non-finite-vector': { what: 'a number that is not finite as float32', loses: 'record' },
  'zero-vector': { what: 'a vector of zeros, which cosine cannot compare', loses: 'record' },
  'invalid-id': {
    what: 'an id that is empty, over 512 bytes, begins with U+0000 or is not well-formed',
    loses: 'record',
  },
  'invalid-namespace': {
    what: 'a namespace that is over 512 bytes, has U+0000 or is not well-formed',
    loses: 'record',
  },
  'repeated-id': { what: 'an id that came before', loses: 'record' },
  'large-metadata': { what: 'metadata over 40 KiB or 32 levels', loses: 'record' },
  'long-text': { what: 'a text that makes the metadata larger than 40 KiB', loses: 'part' },
  'taken-field': { what: 'a field whose name the metadata already has', loses: 'part' },
  'unsupported-value': { what: 'a value that JSON does not have', loses: 'part' },
  'rounded-integer': { what: 'an integer past 2^53, which would be rounded', loses: 'part' },
  'sparse-vector': { what: 'a sparse vector', loses: 'part' },
  'other-vector': { what: 'more than one vector', loses: 'part' },
} as const satisfies Record<string, { what: string; loses: Loss }>;

export type Issue = keyof typeof ISSUES;
export const ISSUE_NAMES = Object.keys(ISSUES) as Issue[];

/** Returns what a record with the issue has, for a sentence such as "3 records with ...". */
export const issueText = (issue: Issue): string => ISSUES[issue].what;

/** Whether a record with the issue cannot be moved at all. */
export const losesRecord = (issue: Issue): boolean => ISSUES[issue].loses === 'record';
