import { setTimeout as delay } from 'node:timers/promises';
import type { Verification } from '../../../contracts/actions/verification.ts';
import type { Recorder, Told } from './recorder.ts';

const LOOK_EVERY_MS = 100;

/**
 * Starts one background verification after another and polls each until it ends. None may find a
 * mismatch, whatever happens to the nodes that recompute.
 */
export class Verifier {
  readonly #client: number;
  readonly #recorder: Recorder;
  readonly faults: string[] = [];
  /** Number of verifications with a result. */
  ended = 0;

  constructor(client: number, recorder: Recorder) {
    this.#client = client;
    this.#recorder = recorder;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { body } = await this.#ask('POST', '', [202]);
      if (body !== null) await this.#follow(body.id, signal);
      await delay(LOOK_EVERY_MS);
    }
  }

  async #follow(id: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // 404 when the verification was lost with its node.
      const { status, body } = await this.#ask('GET', `/${id}`, [200, 404]);
      if (status === 404) return;
      if (body !== null && body.state !== 'running') return this.#look(body);
      await delay(LOOK_EVERY_MS);
    }
  }

  #look({ result, progress: { scanned, total } }: Verification): void {
    if (result === undefined) return;
    this.ended++;
    if (result.state === 'mismatch') this.faults.push(`a verification says ${JSON.stringify(result)}`);
    if (scanned !== total) this.faults.push(`a verification ended after ${scanned} of ${total} records`);
  }

  #ask(method: string, path: string, answers: number[]): Promise<Told<Verification>> {
    const route = { method, path: `/collections/${this.#recorder.collection}/verifications${path}` };
    return this.#recorder.ask({ client: this.#client, kind: 'verification', shards: [], route, answers });
  }
}
