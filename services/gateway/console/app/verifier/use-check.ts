import { useEffect, useRef, useState } from 'preact/hooks';
import type { CheckMessage, CheckOutcome, CheckRequest } from './check-request.ts';

/** Where a check stands. Bytes are those of the file. */
export type CheckState =
  | { state: 'idle' }
  | { state: 'checking'; readBytes: number; bytes: number }
  | { state: 'done'; outcome: CheckOutcome };

/** Starts the worker of a check. */
export type StartWorker = () => Worker;

interface Check {
  now: CheckState;
  start(request: CheckRequest): void;
  cancel(): void;
}

const CRASHED =
  'The check ended early. The browser may lack the memory: an export takes about half a kilobyte for each record.';

/** Runs one check at a time, each in a worker of its own; cancelling ends the worker. */
export function useCheck(startWorker: StartWorker): Check {
  const [now, setNow] = useState<CheckState>({ state: 'idle' });
  const running = useRef<Worker | null>(null);
  const cancel = (): void => {
    running.current?.terminate();
    running.current = null;
    setNow({ state: 'idle' });
  };
  const start = (request: CheckRequest): void => {
    cancel();
    const { size: bytes } = request.subject;
    const worker = startWorker();
    const done = (outcome: CheckOutcome): void => {
      worker.terminate();
      if (running.current === worker) setNow({ state: 'done', outcome });
    };
    running.current = worker;
    setNow({ state: 'checking', readBytes: 0, bytes });
    worker.onmessage = ({ data }: MessageEvent<CheckMessage>) => {
      if (data.kind === 'progress') setNow({ state: 'checking', readBytes: data.bytes, bytes });
      else done(data);
    };
    worker.onerror = () => done({ kind: 'unusable', message: CRASHED });
    worker.postMessage(request);
  };
  useEffect(() => () => running.current?.terminate(), []);
  return { now, start, cancel };
}
