import { call } from '../../../contracts/actions/call.ts';
import type {
  CollectionsActions,
  ExportPart,
  ExportPosition,
  NamedCollection,
} from '../../../contracts/actions/collections.ts';
import { recordBytes } from '../../../lib/admission/answer-size.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { RoutedRequest } from '../request-context.ts';
import { exportLines, type Pieces } from '../responses/json-pieces.ts';
import { JSON_HEADERS, NDJSON_TYPE } from '../responses/sender.ts';
import { attemptCall, untilDisconnect, withPermit } from './call-action.ts';
import type { StepParts } from './step.ts';

const HEADERS = { ...JSON_HEADERS, 'Content-Type': NDJSON_TYPE };
/** Interval in ms at which snapshots are kept alive. One lost call is harmless. */
const KEEP_EVERY_MS = INTERNAL_LIMITS.unaskedPageMaxMs / 3;

/**
 * Sends the first part of an export, which the action returned, and then the following parts.
 * Resolves when all is sent or the response was cut off. A part that cannot be read cuts the
 * response off.
 */
export async function exportRecords(request: RoutedRequest, parts: StepParts): Promise<void> {
  const run = new ExportRun(request, parts);
  try {
    await parts.sender.send(request, { status: 200, headers: HEADERS }, run.first(), () => run.next());
  } finally {
    run.end();
    request.answerMemory?.release();
  }
}

/**
 * Parts of an export. Keeps the snapshots alive while the client reads the previous part and while
 * the next one waits for a permit, and releases them at the end.
 */
class ExportRun {
  readonly #request: RoutedRequest;
  readonly #parts: StepParts;
  /** Part that was read last. */
  #part: ExportPart;
  #stopKeeping: () => void = () => undefined;

  constructor(request: RoutedRequest, parts: StepParts) {
    this.#request = request;
    this.#parts = parts;
    this.#part = request.result as ExportPart;
  }

  /** Throws UNAVAILABLE if no memory is left for the part. */
  first(): Pieces {
    this.#keep();
    return this.#lines();
  }

  /** Returns null after the last part, and for HEAD. Throws what the action throws. */
  async next(): Promise<Pieces | null> {
    const following = this.#following();
    if (following === null || this.#request.method === 'HEAD') return null;
    this.#part = (await withPermit(this.#request, this.#parts, () => {
      this.#stopKeeping();
      return untilDisconnect(this.#request, (signal) => attemptCall(this.#request, this.#parts, following, { signal }));
    })) as ExportPart;
    this.#keep();
    return this.#lines();
  }

  /** Stops keeping the snapshots alive and releases them. */
  end(): void {
    this.#stopKeeping();
    this.#tell('collections.leaveExport');
  }

  #lines(): Pieces {
    this.#request.answerMemory?.resize(recordBytes(this.#part.records));
    return exportLines(this.#part);
  }

  /** Returns the parameters for the next part, or null after the last. */
  #following(): (NamedCollection & { at: ExportPosition }) | null {
    const { next } = this.#part;
    if (next === undefined) return null;
    const named = this.#request.params as CollectionsActions['collections.export']['params'];
    return { ...named, collectionId: next.collectionId, at: next };
  }

  #keep(): void {
    if (this.#following() === null) return;
    this.#stopKeeping = this.#parts.timers.after(KEEP_EVERY_MS, () => {
      this.#tell('collections.keepExport');
      this.#keep();
    });
  }

  #tell(action: 'collections.keepExport' | 'collections.leaveExport'): void {
    const following = this.#following();
    // A snapshot that expired is reported when the next part is read, and one that is not released
    // expires by itself.
    if (following !== null) call(this.#request.caller, action, following).catch(() => undefined);
  }
}
