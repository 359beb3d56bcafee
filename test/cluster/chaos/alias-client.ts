import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../../support/api-client.ts';
import type { Recorder, Told } from './recorder.ts';

const ALIASES = ['live-0', 'live-1', 'live-2'];
/**
 * Each alias is pointed to each target at most once, so that histories can tell writes apart by
 * value.
 */
const TARGETS = 60;
const PAUSE_MAX_MS = 80;

/** Puts that no client has made yet. */
export type Puts = { alias: string; collection: string }[];

/** Creates the collections that aliases point to. `random` orders the puts. */
export async function aliasTargets(api: Api, random: () => number): Promise<Puts> {
  const names = Array.from({ length: TARGETS }, (_, number) => `target-${number}`);
  for (const name of names) {
    const { status, body } = await api('POST', '/collections', { name, dimensions: 1, shards: 1 });
    if (status !== 201) throw new Error(`${name} was not made: ${JSON.stringify(body)}`);
  }
  return ALIASES.flatMap((alias) => names.map((collection) => ({ alias, collection })))
    .map((put) => ({ put, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ put }) => put);
}

/** Puts, reads and deletes shared aliases, and records the responses. */
export class AliasClient {
  readonly #client: number;
  readonly #recorder: Recorder;
  readonly #random: () => number;
  readonly #puts: Puts;

  constructor(client: number, recorder: Recorder, random: () => number, puts: Puts) {
    this.#client = client;
    this.#recorder = recorder;
    this.#random = random;
    this.#puts = puts;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const chosen = this.#random();
      if (chosen < 0.7) await this.#get(this.#any());
      else if (chosen < 0.75) await this.#delete(this.#any());
      else await this.#put();
      await delay(this.#random() * PAUSE_MAX_MS);
    }
  }

  #any(): string {
    return ALIASES[Math.floor(this.#random() * ALIASES.length)]!;
  }

  #ask(method: string, alias: string, answers: number[], body?: object): Promise<Told<{ collection: string }>> {
    const route = { method, path: `/aliases/${alias}` };
    return this.#recorder.ask({ client: this.#client, kind: 'alias', shards: [], route, answers, body });
  }

  async #put(): Promise<void> {
    const put = this.#puts.pop();
    if (put === undefined) return;
    const { alias, collection } = put;
    const { outcome, status, sent, answered } = await this.#ask('PUT', alias, [200, 201], { collection });
    if (outcome === 'refused') return;
    const known = outcome === 'ok' ? { existed: status === 200, answered } : { answered: null };
    this.#recorder.noteAlias(alias, { kind: 'write', value: collection, sent, ...known });
  }

  async #delete(alias: string): Promise<void> {
    const { outcome, status, sent, answered } = await this.#ask('DELETE', alias, [200, 404]);
    if (outcome === 'refused') return;
    const known = outcome === 'ok' ? { existed: status === 200, answered } : { answered: null };
    this.#recorder.noteAlias(alias, { kind: 'delete', value: null, sent, ...known });
  }

  async #get(alias: string): Promise<void> {
    const { body, status, sent, answered } = await this.#ask('GET', alias, [200, 404]);
    if (body === null) return;
    const value = status === 200 ? body.collection : null;
    this.#recorder.noteAlias(alias, { kind: 'read', value, sent, answered });
  }
}
