import type { NamespacesPage } from '../../../contracts/actions/collections.ts';
import { PagedResponse, type PageSource } from '../responses/paged-response.ts';
import { collectionParams, type RouteCall, type RouteInput, requiredCollection } from '../route.ts';
import { pineconeMetric } from './metric.ts';
import { DEFAULT_NAMESPACE, pineconeNamespace } from './namespace.ts';
import { countParams } from './route.ts';

/** Estimated memory in bytes of one namespace on a page, without its name. */
const NAMESPACE_BYTES = 100;

/** Statistics of an index. Each page of namespaces is counted at a different moment. */
class Statistics implements PageSource<NamespacesPage> {
  readonly opening = '{"namespaces":{';
  readonly #input: RouteInput;
  /** Records that `/api/v1` stored in a namespace with Pinecone's name for the default one. */
  #ofSameName = 0;
  #total = 0;

  constructor(input: RouteInput) {
    this.#input = input;
  }

  async read(call: RouteCall, cursor?: string): Promise<NamespacesPage> {
    const limit = this.#input.limits.namespacesPageMax;
    const page = await call('collections.namespaces', { ...collectionParams(this.#input), limit, cursor });
    if (cursor === undefined && page.namespaces[0]?.name === '') {
      this.#ofSameName = (await call('collections.count', countParams(this.#input, DEFAULT_NAMESPACE))).count;
    }
    return page;
  }

  *members({ namespaces }: NamespacesPage): Iterable<string | null> {
    for (const { name, vectorCount } of namespaces) {
      const isCounted = name === DEFAULT_NAMESPACE && this.#ofSameName > 0;
      yield isCounted ? null : this.#member(name, vectorCount);
    }
  }

  closing(): string {
    const { dimensions, metric } = requiredCollection(this.#input);
    const rest = {
      dimension: dimensions,
      indexFullness: 0,
      totalVectorCount: this.#total,
      metric: pineconeMetric(metric),
      vectorType: 'dense',
    };
    return `},${JSON.stringify(rest).slice(1)}`;
  }

  bytesOf({ namespaces }: NamespacesPage): number {
    return namespaces.reduce((sum, { name }) => sum + NAMESPACE_BYTES + 2 * name.length, 0);
  }

  #member(name: string, records: number): string {
    const vectorCount = records + (name === '' ? this.#ofSameName : 0);
    this.#total += vectorCount;
    return `${JSON.stringify(pineconeNamespace(name))}:{"vectorCount":${vectorCount}}`;
  }
}

/** Begins the statistics of an index with their first page. Throws the actions' errors. */
export async function beginStatistics(input: RouteInput, call: RouteCall): Promise<PagedResponse<NamespacesPage>> {
  const statistics = new Statistics(input);
  return new PagedResponse(statistics, await statistics.read(call));
}
