import type * as Api from '../../../../../client/api/generated.ts';
import { Exported } from '../../../../../client/export-stream.ts';
import { Transport } from '../../../../../client/http/transport.ts';
import { NDJSON_TYPE } from '../../../../../client/import-body.ts';
import { SERVICE_URL } from './service.ts';
import { withKey } from './session.ts';
import { uploadFetch } from './upload-fetch.ts';

/** An export in the browser, which keeps a large one on disk. */
export interface ExportedFile {
  file: Blob;
  merkleRoot: string;
  version: number;
  vectorCount: number;
}

/** More bytes than the head of an export takes. */
const HEAD_MAX_BYTES = 4 * 1024;

/** Sends records as NDJSON. Rejects with the client's errors, which name the line. */
export function importFile(
  name: string,
  file: Blob,
  report: (sentBytes: number) => void,
  signal: AbortSignal,
): Promise<Api.ImportRecordsResult> {
  const body = { body: file, contentType: NDJSON_TYPE, isRepeatable: true };
  return withTransport(uploadFetch(report), (transport) =>
    transport.send('importRecords', { path: { name } }, { signal }, body),
  );
}

/** Reads an export. Rejects with the client's errors, also if the export is cut off. */
export function exportFile(
  name: string,
  report: (readBytes: number) => void,
  signal: AbortSignal,
): Promise<ExportedFile> {
  return withTransport(fetch, async (transport) => {
    const answer = await transport.open('exportRecords', { path: { name } }, NDJSON_TYPE, { signal });
    let readBytes = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        readBytes += chunk.length;
        report(readBytes);
        controller.enqueue(chunk);
      },
    });
    const file = await new Response(new Exported(answer).bytes().pipeThrough(counted)).blob();
    const [head = ''] = (await file.slice(0, HEAD_MAX_BYTES).text()).split('\n', 1);
    const { merkleRoot, version, vectorCount } = (JSON.parse(head) as { export: ExportedFile }).export;
    return { file: new Blob([file], { type: NDJSON_TYPE }), merkleRoot, version, vectorCount };
  });
}

/** Neither transfer has a deadline: the reader cancels it. A failed one is repeated by hand. */
function withTransport<T>(send: typeof fetch, call: (transport: Transport) => Promise<T>): Promise<T> {
  return withKey((apiKey) => {
    const options = { url: SERVICE_URL, apiKey, maxRetries: 0, onWarning: () => undefined, fetch: send };
    return call(new Transport(options));
  });
}
