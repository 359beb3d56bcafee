import type { ShardMatch } from '../../../lib/shard/match.ts';
import type { Pieces } from '../responses/splice.ts';

const NONE = '{}';

/** `{"matches": [{id, score, values, metadata?}], ...tail}`, piece by piece. */
export function matchesJson(matches: readonly ShardMatch[], tail: object): Pieces {
  return function* write(json) {
    json.text('{"matches":[');
    let separator = '';
    for (const { id, score, distance, metadata = NONE, values } of matches) {
      // Theirs is the squared distance, least first; of a rounded root it is right to float32.
      const theirs = distance === undefined ? score : Math.fround(distance ** 2);
      json.text(`${separator}{"id":${JSON.stringify(id)},"score":${JSON.stringify(theirs)},"values":`);
      if (values === undefined) json.text('[]');
      else json.numbers(values);
      json.text(metadata === NONE ? '}' : `,"metadata":${metadata}}`);
      separator = ',';
      yield;
    }
    json.text(`],${JSON.stringify(tail).slice(1)}`);
  };
}

/** `{"vectors": {<id>: {id, values, metadata?}}, ...tail}`, piece by piece. */
export function vectorsJson(
  records: Iterable<{ id: string; values?: Float32Array; metadata?: string }>,
  tail: object,
): Pieces {
  return function* write(json) {
    json.text('{"vectors":{');
    let separator = '';
    for (const { id, values, metadata = NONE } of records) {
      const name = JSON.stringify(id);
      json.text(`${separator}${name}:{"id":${name},"values":`);
      json.numbers(values!);
      json.text(metadata === NONE ? '}' : `,"metadata":${metadata}}`);
      separator = ',';
      yield;
    }
    json.text(`},${JSON.stringify(tail).slice(1)}`);
  };
}
