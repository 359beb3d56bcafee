import { call } from '../../../lib/actions/call.ts';
import type { CollectionsActions, ExportPart, ExportPosition, Named } from '../../../lib/actions/collections.ts';
import { recordBytes } from '../../../lib/admission/answer-size.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Exchange } from '../exchange.ts';
import { NDJSON_TYPE } from '../ndjson-type.ts';
import { JSON_HEADERS } from '../responses/sender.ts';
import { exportLines, type Pieces } from '../responses/splice.ts';
import { attemptCall } from './call-action.ts';
import type { StepParts } from './step.ts';

const HEADERS = { ...JSON_HEADERS, 'Content-Type': NDJSON_TYPE };
/** Often enough for one call in between to be lost. */
const KEEP_EVERY_MS = INTERNAL_LIMITS.unaskedPageMaxMs / 3;

/**
 * Answers with the first part of an export, which the action gave, and with those that follow;
 * resolves when all is sent, or cut off. A part that cannot be had cuts the answer off.
 */
export async function exportRecords(exchange: Exchange, parts: StepParts): Promise<void> {
  const run = new ExportRun(exchange, parts);
  try {
    await parts.sender.send(exchange, { status: 200, headers: HEADERS }, run.first(), () => run.next());
  } finally {
    run.end();
    exchange.answerMemory?.release();
  }
}

/**
 * The parts of an export. The snapshots that they are read from are kept while the client takes in
 * the part before, however long the gateway lets it take, and let go of at the end.
 */
class ExportRun {
  readonly #exchange: Exchange;
  readonly #parts: StepParts;
  /** The part that was had last. */
  #part: ExportPart;
  #stopKeeping: () => void = () => undefined;

  constructor(exchange: Exchange, parts: StepParts) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#part = exchange.result as ExportPart;
  }

  /** Throws UNAVAILABLE when there is no memory left for it. */
  first(): Pieces {
    this.#keep();
    return this.#lines();
  }

  /** Null after the last one, and to HEAD. Throws as the action does. */
  async next(): Promise<Pieces | null> {
    const following = this.#following();
    if (following === null || this.#exchange.method === 'HEAD') return null;
    this.#stopKeeping();
    this.#part = (await attemptCall(this.#exchange, this.#parts, following)) as ExportPart;
    this.#keep();
    return this.#lines();
  }

  /** No part will be asked for any more. */
  end(): void {
    this.#stopKeeping();
    this.#tell('collections.leaveExport');
  }

  #lines(): Pieces {
    this.#exchange.answerMemory?.resize(recordBytes(this.#part.records));
    return exportLines(this.#part);
  }

  /** What the next part is asked for with; null after the last one. */
  #following(): (Named & { at: ExportPosition }) | null {
    const { next } = this.#part;
    if (next === undefined) return null;
    const named = this.#exchange.params as CollectionsActions['collections.export']['params'];
    return { ...named, collectionId: next.collectionId, at: next };
  }

  #keep(): void {
    if (this.#following() === null) return;
    this.#stopKeeping = this.#parts.timers.after(KEEP_EVERY_MS, () => {
      this.#tell('collections.keepExport');
      this.#keep();
    });
  }

  /**
   * Of its failure nobody has to know: what is not kept is missed when the next part is asked for,
   * and what is not left ends by itself.
   */
  #tell(action: 'collections.keepExport' | 'collections.leaveExport'): void {
    const following = this.#following();
    if (following !== null) call(this.#exchange.caller, action, following).catch(() => undefined);
  }
}
