import { invalidArgument } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/records/fields.ts';
import type { Field } from './field.ts';

/** Cloud and region that the creator of a collection named. */
export type Place = Readonly<Partial<Record<(typeof PLACE_FIELDS)[number], string>>>;

export const PLACE_FIELDS = ['cloud', 'region'] as const;
const PLACE_TEXT_MAX_CHARS = 64;
const TEXT = { type: 'string', minLength: 1, maxLength: PLACE_TEXT_MAX_CHARS };

/** Stored but not used by Provec. Index management tools compare it with what they requested. */
export const place: Field<Place> = {
  schema: {
    type: 'object',
    description: 'Cloud and region that a Pinecone client gave when it created the index; Provec only stores them.',
    properties: Object.fromEntries(PLACE_FIELDS.map((name) => [name, TEXT])),
  },
  decode(value, path) {
    if (!isJsonObject(value)) throw invalidArgument(path, 'an object with cloud and region', value);
    return Object.fromEntries(
      PLACE_FIELDS.flatMap((name) =>
        value[name] === undefined ? [] : [[name, placeText(value[name], `${path}.${name}`)]],
      ),
    );
  },
};

/** Throws INVALID_ARGUMENT with `path`. */
export function placeText(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= PLACE_TEXT_MAX_CHARS && value.isWellFormed())
    return value;
  throw invalidArgument(path, `a string of 1 to ${PLACE_TEXT_MAX_CHARS} characters`, value);
}
