import type { NamespacesPage } from '../../../lib/actions/collections.ts';
import type { Pieces } from '../responses/splice.ts';
import { named, type RouteCall, type RouteInput } from '../route.ts';
import { pineconeMetric } from './metric.ts';
import { DEFAULT_NAMESPACE, pineconeNamespace } from './namespace.ts';
import { askedWith } from './route.ts';

/** Estimate of what a namespace of a page takes beside its name. */
const NAMESPACE_BYTES = 100;

/**
 * The statistics of an index, sent page by page as its namespaces are read: however many there are,
 * the gateway holds one page of them. The counts of each page are of a moment of its own.
 */
export class Statistics {
  readonly #input: RouteInput;
  #page: NamespacesPage;
  /** Records of a namespace that /api/v1 called as Pinecone calls the default one. */
  readonly #ofSameName: number;
  #separator = '{"namespaces":{';
  #total = 0;

  private constructor(input: RouteInput, page: NamespacesPage, ofSameName: number) {
    this.#input = input;
    this.#page = page;
    this.#ofSameName = ofSameName;
  }

  /** Throws as the actions do. */
  static async begin(input: RouteInput, call: RouteCall): Promise<Statistics> {
    const page = await readPage(input, call);
    if (page.namespaces[0]?.name !== '') return new Statistics(input, page, 0);
    const params = askedWith(input, { namespace: DEFAULT_NAMESPACE, consistency: 'strong' });
    return new Statistics(input, page, (await call('collections.count', params)).count);
  }

  /** Memory that the page takes. */
  get heldBytes(): number {
    return this.#page.namespaces.reduce((sum, { name }) => sum + NAMESPACE_BYTES + 2 * name.length, 0);
  }

  /** The part of the answer that the page is; with the last one, the rest. */
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

  /** The part that follows; null after the last one. Throws as the action does. */
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
  return call('collections.namespaces', { ...named(input), limit: input.limits.namespacesPageMax, cursor });
}
