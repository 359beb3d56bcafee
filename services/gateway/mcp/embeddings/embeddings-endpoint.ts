import { ProvecError } from '../../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { isJsonObject } from '../../../../lib/records/fields.ts';

/** Longest number in an answer, with what separates it. */
const NUMBER_MAX_BYTES = 32;
/** The rest of an answer: its model, its usage, and the objects around the vectors. */
const REST_MAX_BYTES = 64 * 1024;

/**
 * The endpoint failed. `problem` completes "The endpoint ...". It never quotes the endpoint, whose
 * messages may repeat the key.
 */
export class EndpointFailure extends Error {
  readonly problem: string;

  constructor(problem: string, cause?: unknown) {
    super(problem, { cause });
    this.problem = problem;
  }
}

interface EndpointOptions {
  url: string;
  model: string;
  /** Null if the endpoint needs none. */
  key: string | null;
}

/** An endpoint with the requests and answers of OpenAI's `/v1/embeddings`. */
export class EmbeddingsEndpoint {
  readonly #options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /**
   * Returns a vector of `dimensions` numbers for each text. Throws DIMENSION_MISMATCH,
   * EndpointFailure, or the reason of the signal.
   */
  async embed(texts: readonly string[], dimensions: number, signal: AbortSignal): Promise<number[][]> {
    const maxBytes = texts.length * dimensions * NUMBER_MAX_BYTES + REST_MAX_BYTES;
    const vectors = vectorsIn(await this.#ask(texts, maxBytes, signal), texts.length);
    const other = vectors.find((vector) => vector.length !== dimensions);
    if (other !== undefined) throw mismatch(other.length, dimensions);
    return vectors;
  }

  async #ask(texts: readonly string[], maxBytes: number, signal: AbortSignal): Promise<unknown> {
    const { key, model, url } = this.#options;
    const timeout = AbortSignal.timeout(INTERNAL_LIMITS.embeddingsTimeoutMs);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
        // The key is for this address alone.
        redirect: 'error',
        signal: AbortSignal.any([signal, timeout]),
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new EndpointFailure(`refused the texts with HTTP status ${response.status}`);
      }
      return parsed(await boundedText(response, maxBytes));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof EndpointFailure) throw error;
      if (timeout.aborted) throw new EndpointFailure('did not answer in time', error);
      throw new EndpointFailure('cannot be reached', error);
    }
  }
}

async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new EndpointFailure('answered with more than vectors of the right size take');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EndpointFailure('answered with something other than JSON', error);
  }
}

/** Returns the vectors in the order of the texts. */
function vectorsIn(answer: unknown, count: number): number[][] {
  const data = isJsonObject(answer) ? answer.data : null;
  if (!Array.isArray(data) || data.length !== count)
    throw new EndpointFailure('answered without a vector for each text');
  const vectors = new Map<unknown, number[]>();
  for (const [at, item] of data.entries()) {
    const { embedding, index = at } = isJsonObject(item) ? item : {};
    if (!isVector(embedding)) throw new EndpointFailure('answered with a vector that is not an array of numbers');
    vectors.set(index, embedding);
  }
  return Array.from({ length: count }, (_, at) => {
    const vector = vectors.get(at);
    if (vector === undefined) throw new EndpointFailure('answered without a vector for each text');
    return vector;
  });
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((component) => Number.isFinite(component));

const mismatch = (got: number, dimensions: number) =>
  new ProvecError(
    'DIMENSION_MISMATCH',
    `The service's embeddings endpoint makes vectors of ${got} numbers, and the collection has ${dimensions} dimensions. Use a collection of ${got} dimensions, or give vectors from the model that this one's are from.`,
  );
