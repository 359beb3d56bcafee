import type { PlainAnswer } from '../../mixins/health/health-pages.ts';

/** Answers that are being sent, from which on they share the newest rendering. */
const OWN_RENDERINGS_MAX = 8;
/** Age, in ms, from which a rendering is not shared with further answers. */
const SHARED_MAX_MS = 5_000;

/**
 * A page that is rendered anew for each request, unless many clients have yet to read theirs: then
 * it shares the newest rendering, so that unread answers hold a bounded memory and everybody still
 * gets one. Requests that come during a rendering share it.
 */
export class SharedPage {
  readonly #render: () => Promise<PlainAnswer>;
  readonly #monotonicMs: () => number;
  #sending = 0;
  #rendering: Promise<PlainAnswer> | null = null;
  #newest: PlainAnswer | null = null;
  #renderedMs = 0;

  constructor(render: () => Promise<PlainAnswer>, monotonicMs: () => number) {
    this.#render = render;
    this.#monotonicMs = monotonicMs;
  }

  /** Rejects as the rendering does. */
  async answer(): Promise<PlainAnswer> {
    const answer = await this.#rendered();
    this.#sending++;
    const sent = () => {
      this.#sending--;
    };
    return { ...answer, sent };
  }

  #rendered(): PlainAnswer | Promise<PlainAnswer> {
    const isShared = this.#sending >= OWN_RENDERINGS_MAX && this.#monotonicMs() - this.#renderedMs < SHARED_MAX_MS;
    if (isShared && this.#newest !== null) return this.#newest;
    this.#rendering ??= this.#renderNewest().finally(() => {
      this.#rendering = null;
    });
    return this.#rendering;
  }

  async #renderNewest(): Promise<PlainAnswer> {
    const answer = await this.#render();
    this.#renderedMs = this.#monotonicMs();
    this.#newest = { ...answer, body: Buffer.from(answer.body) };
    return this.#newest;
  }
}
