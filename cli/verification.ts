import { setTimeout as delay } from 'node:timers/promises';
import type { Api, Collection } from '../client/index.ts';
import { Progress } from './output/progress.ts';
import type { Session } from './session.ts';

/** First and longest wait, in ms, between two polls of a running verification. */
const FIRST_WAIT_MS = 50;
const WAIT_MAX_MS = 2_000;

/** Starts a verification in the background, which has no time limit, and waits for its end. */
export async function endedVerification({ request }: Session, collection: Collection): Promise<Api.Verification> {
  const progress = new Progress('verifying');
  let run = await collection.startVerification(request);
  try {
    for (let waitMs = FIRST_WAIT_MS; run.state === 'running'; waitMs = Math.min(2 * waitMs, WAIT_MAX_MS)) {
      const { scanned, total } = run.progress;
      progress.update(scanned, total === 0 ? null : scanned / total);
      await delay(waitMs, undefined, request);
      run = await collection.getVerification(run.id, request);
    }
  } finally {
    progress.end();
  }
  return run;
}
