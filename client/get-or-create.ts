import type * as Api from './api/generated.ts';
import { APIConnectionError, ConflictError, NotFoundError, UnavailableError } from './http/errors.ts';

/** Fields that cannot change after a collection is created. */
const IMMUTABLE_FIELDS = ['dimensions', 'metric', 'shards', 'replicas', 'quantization'] as const;

/**
 * Returns the collection, and creates it if it does not exist. If the answer to the creation was
 * lost, or another client created it first, looks it up once more.
 */
export async function getOrCreate(
  body: Api.CreateCollection,
  describe: () => Promise<Api.Collection>,
  create: () => Promise<Api.Collection>,
): Promise<Api.Collection> {
  for (let isFirst = true; ; isFirst = false) {
    const found = await describe().catch((error: unknown) => {
      if (error instanceof NotFoundError && error.code === 'COLLECTION_NOT_FOUND') return null;
      throw error;
    });
    if (found !== null) return assertMatching(found, body);
    try {
      return await create();
    } catch (error) {
      if (!isFirst || !mayExist(error)) throw error;
    }
  }
}

function mayExist(error: unknown): boolean {
  if (error instanceof ConflictError) return error.code === 'COLLECTION_EXISTS';
  return error instanceof APIConnectionError || error instanceof UnavailableError;
}

/** Throws a ConflictError if the collection has other fixed fields, or the name is an alias. */
function assertMatching(found: Api.Collection, body: Api.CreateCollection): Api.Collection {
  if (found.name !== body.name) throw conflict(`${body.name} is an alias of the collection ${found.name}.`);
  const other = IMMUTABLE_FIELDS.find((field) => body[field] !== undefined && body[field] !== found[field]);
  if (other === undefined) return found;
  throw conflict(`The collection ${found.name} exists with ${other} ${found[other]}, not ${body[other]}.`);
}

const conflict = (error: string): ConflictError => new ConflictError({ error, status: 409, code: 'COLLECTION_EXISTS' });
