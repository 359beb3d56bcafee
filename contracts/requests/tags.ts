import canonicalize from 'canonicalize';
import { describeValue } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { invalidValue, isJsonObject, printableName } from '../../lib/records/fields.ts';
import type { Field } from './field.ts';
import type { Place } from './place.ts';

/** A user's notes about a collection. */
export type Tags = Readonly<Record<string, string>>;

/** Tags to set; an empty value removes the tag. */
export const tags = (limits: Limits): Field<Tags> => ({
  schema: {
    type: 'object',
    description: `Up to ${limits.tagsMax} names with a text each, for your own use. An empty text removes the tag.`,
    maxProperties: limits.tagsMax,
    propertyNames: { minLength: 1, maxLength: limits.tagNameMaxChars },
    additionalProperties: { type: 'string', maxLength: limits.tagValueMaxChars },
  },
  decode(value, path) {
    if (!isJsonObject(value)) throw invalidValue(path, 'an object with a text for each tag', describeValue(value));
    const given = Object.entries(value);
    if (given.length > limits.tagsMax)
      throw invalidValue(path, `at most ${limits.tagsMax} tags`, `${given.length} tags`);
    for (const [name, text] of given) {
      const at = `${path}.${printableName(name)}`;
      if (!isText(name, limits.tagNameMaxChars) || name === '')
        throw invalidValue(at, `named by 1 to ${limits.tagNameMaxChars} characters`, describeValue(name));
      if (!isText(text, limits.tagValueMaxChars))
        throw invalidValue(at, `a string of at most ${limits.tagValueMaxChars} characters`, describeValue(text));
    }
    return Object.fromEntries(given) as Tags;
  },
});

const isText = (value: unknown, maxChars: number): value is string =>
  typeof value === 'string' && value.isWellFormed() && value.length <= maxChars;

/** Reserved key under which a row stores its place; no tag can have it. */
const PLACE_NAME = '';

/** Returns a collection's stored tags after setting others. Throws INVALID_ARGUMENT if too many. */
export function withTags(
  before: string | undefined,
  set: Tags,
  { tagsMax }: Pick<Limits, 'tagsMax'>,
): string | undefined {
  const all = Object.entries({ ...parseTags(before), ...set }).filter(([, text]) => text !== '');
  const count = all.filter(([name]) => name !== PLACE_NAME).length;
  if (count > tagsMax) throw invalidValue('tags', `at most ${tagsMax} tags with those that are there`, `${count}`);
  return serializeTags(Object.fromEntries(all));
}

/** Returns the stored tags of a new collection, with its place. */
export function withPlace(tags: string | undefined, place: Place | undefined): string | undefined {
  if (place === undefined || Object.keys(place).length === 0) return tags;
  return serializeTags({ ...parseTags(tags), [PLACE_NAME]: JSON.stringify(place) });
}

/** Reads the tags from a row; undefined if it has none. */
export function readTags(row: string | undefined): Tags | undefined {
  const { [PLACE_NAME]: _, ...tags } = parseTags(row);
  return Object.keys(tags).length === 0 ? undefined : tags;
}

/** Reads the place from a row. */
export function readPlace(row: string | undefined): Place | undefined {
  const { [PLACE_NAME]: place } = parseTags(row);
  return place === undefined ? undefined : (JSON.parse(place) as Place);
}

const parseTags = (row: string | undefined): Tags => (row === undefined ? {} : (JSON.parse(row) as Tags));
const serializeTags = (texts: Tags): string | undefined =>
  Object.keys(texts).length === 0 ? undefined : canonicalize(texts);
