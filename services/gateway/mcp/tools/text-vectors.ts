import { ProvecError } from '../../../../lib/errors.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import type { RestCalls } from '../rest-calls.ts';

/** A text that needs a vector, and where the agent gave it. */
export interface TextToEmbed {
  text: string;
  path: string;
}

/**
 * Returns the vectors of texts, for a collection. Throws INVALID_ARGUMENT if the service embeds no
 * text, and the errors of the endpoint.
 */
export async function vectorsOf(
  texts: readonly TextToEmbed[],
  collection: CollectionRow,
  { embedder }: Pick<RestCalls, 'embedder'>,
): Promise<number[][]> {
  const [first] = texts;
  if (first === undefined) return [];
  const { dimensions } = collection;
  if (embedder === null) {
    const vector = first.path === 'text' ? 'vector' : first.path.replace(/text$/, 'values');
    throw new ProvecError(
      'INVALID_ARGUMENT',
      `This service makes no vectors of text. Give ${vector}, an array of ${dimensions} numbers from the model that the collection's vectors are from.`,
    );
  }
  return embedder.embed(
    texts.map(({ text }) => text),
    dimensions,
  );
}

/** Returns the vector of one text, as `vectorsOf` does. */
export async function vectorOf(
  text: string,
  path: string,
  collection: CollectionRow,
  calls: Pick<RestCalls, 'embedder'>,
): Promise<number[]> {
  const [vector = []] = await vectorsOf([{ text, path }], collection, calls);
  return vector;
}
