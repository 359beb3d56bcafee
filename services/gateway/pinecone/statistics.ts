import type { NamespacesPage } from '../../../contracts/actions/collections.ts';
import type { Pieces } from '../responses/json-pieces.ts';
import { collectionParams, type RouteCall, type RouteInput } from '../route.ts';
import { pineconeMetric } from './metric.ts';
import { DEFAULT_NAMESPACE, pineconeNamespace } from './namespace.ts';
import { paramsWith } from './route.ts';

/** Estimated memory in bytes of one namespace on a page, without its name. */
const NAMESPACE_BYTES = 100;

/**
 * Statistics of an index, sent page by page while its namespaces are read, so that the gateway
 * holds only one page. The counts of each page are from a different moment.
 */
export class Statistics {
  readonly #input: RouteInput;
  #page: NamespacesPage;
  /** Records that `/api/v1` stored in a namespace with Pinecone's name for the default one. */
  readonly #ofSameName: number;
  #separator = '{"namespaces":{';
  #total = 0;

  private constructor(input: RouteInput, page: NamespacesPage, ofSameName: number) {
    this.#input = input;
    this.#page = page;
    this.#ofSameName = ofSameName;
  }

  /** Reads the first page. Throws the actions' errors. */
  static async begin(input: RouteInput, call: RouteCall): Promise<Statistics> {
    const page = await readPage(input, call);
    if (page.namespaces[0]?.name !== '') return new Statistics(input, page, 0);
    const params = paramsWith(input, { namespace: DEFAULT_NAMESPACE, consistency: 'strong' });
    return new Statistics(input, page, (await call('collections.count', params)).count);
  }

  /** Memory of the current page in bytes. */
  get heldBytes(): number {
    return this.#page.namespaces.reduce((sum, { name }) => sum + NAMESPACE_BYTES + 2 * name.length, 0);
  }

  /** Returns the current page's part of the response; the last part also has the totals. */
  part(): Pieces {
    const statistics = this;
    return function* write(json) {
      const { namespaces, nextCursor } = statistics.#page;
      for (const { name, vectorCount } of namespaces) {
        const isCounted = name === DEFAULT_NAMESPACE && statistics.#ofSameName > 0;
        if (!isCounted) json.text(statistics.#member(name, vectorCount));
        yield;
      }
      if (nextCursor === undefined) json.text(statistics.#ending());
    };
  }

  /** Returns the next page's part, or null after the last. Throws the action's errors. */
  async next(call: RouteCall): Promise<Pieces | null> {
    const { nextCursor } = this.#page;
    if (nextCursor === undefined) return null;
    this.#page = await readPage(this.#input, call, nextCursor);
    return this.part();
  }

  #member(name: string, records: number): string {
    const vectorCount = records + (name === '' ? this.#ofSameName : 0);
    const text = `${this.#separator}${JSON.stringify(pineconeNamespace(name))}:{"vectorCount":${vectorCount}}`;
    this.#separator = ',';
    this.#total += vectorCount;
    return text;
  }

  #ending(): string {
    const { dimensions, metric } = this.#input.collection!;
    const rest = {
      dimension: dimensions,
      indexFullness: 0,
      totalVectorCount: this.#total,
      metric: pineconeMetric(metric),
      vectorType: 'dense',
    };
    const begun = this.#separator === ',' ? '' : this.#separator;
    return `${begun}},${JSON.stringify(rest).slice(1)}`;
  }
}

function readPage(input: RouteInput, call: RouteCall, cursor?: string): Promise<NamespacesPage> {
  return call('collections.namespaces', { ...collectionParams(input), limit: input.limits.namespacesPageMax, cursor });
}
