import type { PlainAnswer } from '../../mixins/health/health-pages.ts';

/** Number of responses being sent from which the next ones share the newest rendering. */
const OWN_RENDERINGS_MAX = 8;
/** Maximum age in ms of a shared rendering. */
const SHARED_MAX_MS = 5_000;

/**
 * Page that is rendered per request. While many responses are still unread, later ones share the
 * newest rendering, which bounds their memory without refusing anyone. Requests that arrive during
 * a rendering share it, too.
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

  /** Rejects if rendering fails. */
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
