import { workerAddress } from '../../../shell/worker-address.ts';
import type { ColumnMapping, ParquetColumn } from './parquet-mapping.ts';
import type { ParquetAnswer, ParquetRequest } from './parquet-request.ts';

const WORKER = new URL('./parquet-worker.ts', import.meta.url).href;
const CRASHED = 'The file could not be read. The browser may lack the memory for a row group of it.';

/** Lines for an import, of some rows of the file. */
export interface ParquetPart {
  lines: Blob;
  /** Number of the first row, from 0. */
  fromRow: number;
  rows: number;
}

/** The file or a row of it cannot be used. */
export class ParquetError extends Error {}

/** A Parquet file that a worker reads. */
export class ParquetFile {
  readonly rows: number;
  readonly columns: readonly ParquetColumn[];
  readonly #worker: Worker;

  private constructor(worker: Worker, rows: number, columns: readonly ParquetColumn[]) {
    this.#worker = worker;
    this.rows = rows;
    this.columns = columns;
  }

  /** Reads the columns of a file. Rejects with ParquetError, and with the signal's reason. */
  static async open(file: Blob, signal: AbortSignal): Promise<ParquetFile> {
    const worker = new Worker(workerAddress(WORKER));
    try {
      const answer = await answered(worker, { kind: 'open', file }, signal);
      if (answer.kind !== 'opened') throw new ParquetError(CRASHED);
      return new ParquetFile(worker, answer.rows, answer.columns);
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  /** Yields the rows in order, as lines. Rejects like `open`. */
  async *parts(mapping: ColumnMapping, signal: AbortSignal): AsyncGenerator<ParquetPart, void, undefined> {
    for (let fromRow = 0; fromRow < this.rows; ) {
      const answer = await answered(this.#worker, { kind: 'read', mapping, fromRow }, signal);
      if (answer.kind !== 'part') throw new ParquetError(CRASHED);
      yield { lines: new Blob([answer.lines]), fromRow, rows: answer.rows };
      fromRow += answer.rows;
    }
  }

  /** Ends the worker. */
  close(): void {
    this.#worker.terminate();
  }
}

function answered(worker: Worker, request: ParquetRequest, signal: AbortSignal): Promise<ParquetAnswer> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<ParquetAnswer>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  worker.onmessage = ({ data }: MessageEvent<ParquetAnswer>) => {
    if (data.kind === 'failed') reject(new ParquetError(data.message));
    else resolve(data);
  };
  worker.onerror = () => reject(new ParquetError(CRASHED));
  worker.postMessage(request);
  return promise.finally(() => signal.removeEventListener('abort', abort));
}
