import type { ExportPart, FacetsResult, QueryResult, RecordsPage } from '../../../contracts/actions/collections.ts';
import type { ShardMatch } from '../../../lib/shard/match.ts';
import type { JsonBuffer } from './json-buffer.ts';

/** Writes a response, one record per step. Any step may end a turn of the event loop. */
export type Pieces = (json: JsonBuffer) => Iterator<void>;

/** Members of a response next to its result. */
export interface Warned {
  /** Absent: none. */
  warnings?: string[];
}

/**
 * Writes the body of a query, list or fetch. Metadata is inserted as stored JSON text, unparsed,
 * and no id becomes a key of a JavaScript object, so any id is safe. `tail` holds further members.
 * Its index signature keeps a `RouteInput` from being passed by mistake, which would leak it.
 */
export function matchesJson(matches: readonly ShardMatch[], tail: Readonly<Record<string, unknown>> = {}): Pieces {
  return function* write(json) {
    json.text('{"matches":[');
    let separator = '';
    for (const match of matches) {
      json.text(`${separator}{"id":${JSON.stringify(match.id)}${ofNamespace(match)}`);
      json.text(`,"score":${JSON.stringify(match.score)}`);
      if (match.metadata !== undefined) json.text(`,"metadata":${match.metadata}`);
      if (match.values !== undefined) {
        json.text(',"values":');
        json.numbers(match.values);
      }
      json.text(match.distance === undefined ? '}' : `,"distance":${JSON.stringify(match.distance)}}`);
      separator = ',';
      yield;
    }
    json.text(`]${ending(tail)}`);
  };
}

export const resultJson = ({ matches, shards }: QueryResult, { warnings }: Warned = {}): Pieces =>
  matchesJson(matches, { shards, warnings });

/** `warned` holds the warnings of each result. */
export function resultsJson({ results }: { results: QueryResult[] }, warned: readonly Warned[]): Pieces {
  return function* write(json) {
    json.text('{"results":[');
    for (const [at, result] of results.entries()) {
      if (at > 0) json.text(',');
      yield* { [Symbol.iterator]: () => resultJson(result, warned[at])(json) };
    }
    json.text(']}');
  };
}

export function recordsJson({ records, nextCursor }: RecordsPage, { warnings }: Warned = {}): Pieces {
  return function* write(json) {
    json.text('{"records":[');
    let separator = '';
    for (const { id, namespace, values, metadata } of records) {
      json.text(`${separator}{"id":${JSON.stringify(id)}${ofNamespace({ namespace })}`);
      if (values !== undefined) {
        json.text(',"values":');
        json.numbers(values);
      }
      json.text(metadata === undefined ? '}' : `,"metadata":${metadata}}`);
      separator = ',';
      yield;
    }
    json.text(`]${ending({ nextCursor, warnings })}`);
  };
}

export function facetsJson({ values, missing }: FacetsResult, { warnings }: Warned = {}): Pieces {
  return function* write(json) {
    json.text('{"values":[');
    let separator = '';
    for (const { value, count } of values) {
      json.text(`${separator}{"value":${JSON.stringify(value)},"count":${count}}`);
      separator = ',';
      yield;
    }
    json.text(`]${ending({ missing, warnings })}`);
  };
}

/** Writes a part of an export: one line per record, after the head and before the end line. */
export function exportLines({ head, records, end }: ExportPart): Pieces {
  return function* write(json) {
    if (head !== undefined) json.text(`${JSON.stringify({ export: head })}\n`);
    for (const { id, namespace, values, metadata } of records) {
      json.text(`{"id":${JSON.stringify(id)},"values":`);
      json.numbers(values);
      if (metadata !== '{}') json.text(`,"metadata":${metadata}`);
      json.text(namespace === '' ? '}\n' : `,"namespace":${JSON.stringify(namespace)}}\n`);
      yield;
    }
    if (end !== undefined) json.text(`${JSON.stringify({ end })}\n`);
  };
}

interface ResponseRecord {
  id: string;
  /** Similarity, for clients that expect one with fetched records. */
  score?: number;
  values?: Float32Array;
  /** JSON text. */
  metadata?: string | undefined;
}

/** `{"vectors": {<id>: {id, score?, values, metadata?}}, ...tail}`. */
export function vectorsJson(records: readonly ResponseRecord[], tail: Readonly<Record<string, unknown>> = {}): Pieces {
  return function* write(json) {
    json.text('{"vectors":{');
    let separator = '';
    for (const { id, score, metadata, values } of records) {
      const name = JSON.stringify(id);
      json.text(`${separator}${name}:{"id":${name}${score === undefined ? '' : `,"score":${score}`},"values":`);
      json.numbers(values!);
      json.text(metadata === undefined ? '}' : `,"metadata":${metadata}}`);
      separator = ',';
      yield;
    }
    json.text(`}${ending(tail)}`);
  };
}

const ofNamespace = ({ namespace }: { namespace?: string | undefined }): string =>
  namespace === undefined ? '' : `,"namespace":${JSON.stringify(namespace)}`;

/** Closes an object after adding more members. */
function ending(members: object): string {
  const text = JSON.stringify(members);
  return text === '{}' ? '}' : `,${text.slice(1)}`;
}
