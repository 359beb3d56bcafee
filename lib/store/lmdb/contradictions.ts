import type { ShardKey } from '../../shard/shard-key.ts';
import type { Contradiction, ContradictionStore } from '../contradictions.ts';
import type { Environment, Table } from './environment.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import { idPart, prefixRange, shardPart } from './row-key.ts';

/** Table: shard -> its first contradiction. */
export class LmdbContradictions implements ContradictionStore {
  readonly #env: Environment;
  readonly #rows: Table;

  constructor(env: Environment) {
    this.#env = env;
    this.#rows = env.table('contradictions');
  }

  async record(shard: ShardKey, contradiction: Contradiction): Promise<void> {
    const key = shardPart(shard);
    await this.#env.write(() => {
      if (!this.#rows.doesExist(key)) this.#rows.putSync(key, encodeRow(contradiction));
    });
  }

  async list(collectionId: string): Promise<Contradiction[]> {
    return this.#env.read(() =>
      [...this.#rows.getRange(prefixRange(idPart(collectionId)))].map(({ value }) =>
        decodeRow<Contradiction>(value, 'A contradiction'),
      ),
    );
  }

  async clear(collectionId: string): Promise<void> {
    await this.#env.write(() => {
      const keys = [...this.#rows.getKeys(prefixRange(idPart(collectionId)))].map((key) => Buffer.from(key));
      for (const key of keys) this.#rows.removeSync(key);
    });
  }

  /** The tables whose keys start with the collection. */
  get tables(): Table[] {
    return [this.#rows];
  }
}
