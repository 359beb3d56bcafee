/**
 * Sends every operation of the three dialects its largest legal input. The service runs in a plain
 * process of its own. No turn of its event loop takes more than 100 ms of processor time. It stops
 * working within a second after a client leaves a read, or an upload half way, and holds nothing of
 * it.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RECALL } from '../../../services/gateway/recall/dialect.ts';
import { ApiDocument } from '../../support/api-document.ts';
import { type LeavingOrder, leaveAfter, leaveHalfWay, sendWhole } from '../../support/leaving-client.ts';
import { ADMIN_TOKEN } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';
import { WatchedProcess } from '../../support/watched-process.ts';
import { type WorstCall, worstCalls } from '../../support/worst-calls.ts';
import { makeWorstCollection } from '../../support/worst-collection.ts';

const HELD_MAX_MS = 100;
const ENDS_WITHIN_MS = 1_000;
/** Rounds of a call above the maximum. The median counts: any round may meet a major collection. */
const ROUNDS_MAX = 3;
/** Bodies that take long enough to send that a client can leave half way. */
const CUT_MIN_BYTES = 2 ** 20;

let watched: WatchedProcess;
beforeAll(async () => {
  watched = await WatchedProcess.start({ PROVEC_LEDGER: 'off', PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
  await makeWorstCollection(watched.service.api);
}, 1_200_000);
afterAll(() => watched?.service.dispose());

function orderOf({ method, path, token, body }: WorstCall): LeavingOrder {
  return {
    url: watched.service.url + path,
    method,
    headers: { authorization: `Bearer ${token}`, 'api-key': token, 'content-type': 'application/json' },
    body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
  };
}

const BODY_BYTES = 'provec_http_request_bodies_in_flight_bytes';
const HELD =
  /^provec_(http_\w+_in_flight_bytes|gateway_(seats_taken|waiting_requests)|shard_queue_bytes)\b.* [^0].*$/gm;

/** Lines of the metrics that show memory or permits of requests. */
async function heldLines(): Promise<string[]> {
  return (await (await fetch(`${watched.service.url}/metrics`)).text()).match(HELD) ?? [];
}

const hasArrived = (bytes: number) =>
  until('the service holds half of the body', async () => (await heldLines()).includes(`${BODY_BYTES} ${bytes}`));

/** Refused: only the service makes the names in their paths, or there is no folder for backups. */
const UNKNOWN =
  /\/verifications\/\{id\}$|\/audit-links\/\{|\/admin\/(accounts|nodes|shards|anchors)\/\{|\/admin\/backups$/;
const operationOf = ({ name }: { name: string }): string => name.replace(/ \(\d+\)$/, '');

const medianOf = (values: number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1]!;

interface Measured {
  name: string;
  status: number;
  tookMs: number;
  heldMs: number;
  peakMiB: number;
  /** Time from the client's leaving until the service was idle; null if it did not leave. */
  endedMs: number | null;
  /** What the metrics then showed of the request. */
  left: string[];
  error: string;
}

async function measure(call: WorstCall): Promise<Measured> {
  const order = orderOf(call);
  const rounds: { heldMs: number; peakMiB: number }[] = [];
  let reply!: Awaited<ReturnType<typeof sendWhole>>;
  let heldMs: number;
  do {
    await watched.untilIdle();
    rounds.push(
      await watched.during(async () => {
        reply = await sendWhole(order);
      }),
    );
    heldMs = medianOf(rounds.map((round) => round.heldMs));
  } while (heldMs > HELD_MAX_MS && rounds.length < (call.isDestructive ? 1 : ROUNDS_MAX));
  const peakMiB = Math.max(...rounds.map((round) => round.peakMiB));
  const measured = { name: call.name, ...reply, heldMs, peakMiB, endedMs: null, left: [] };
  await watched.untilIdle();
  if (call.isRead) await leaveAfter(order, reply.tookMs / 2);
  else if ((order.body?.length ?? 0) > CUT_MIN_BYTES) await leaveHalfWay(order, hasArrived);
  else return measured;
  return { ...measured, endedMs: await watched.untilIdle(), left: await heldLines() };
}

test.each([
  ['/api/v1', '/openapi.json'],
  ['/pinecone', '/pinecone/openapi.json'],
  [RECALL.base, '/openapi.json'],
])(
  'the operations of %s hold the event loop shortly, and end soon after their client leaves',
  async (base, path) => {
    const document = new ApiDocument(await (await fetch(watched.service.url + path)).json());
    const measured: Measured[] = [];
    for (const call of worstCalls(base, document)) {
      const one = await measure(call);
      measured.push(one);
      console.log(JSON.stringify(one));
    }
    const taken = new Set(measured.filter(({ status }) => status < 300).map(operationOf));
    expect(measured.map(operationOf).filter((name) => !taken.has(name) && !UNKNOWN.test(name))).toEqual([]);
    expect(measured.filter(({ status }) => status >= 500)).toEqual([]);
    expect(measured.filter(({ heldMs }) => heldMs > HELD_MAX_MS)).toEqual([]);
    expect(measured.filter(({ endedMs }) => endedMs !== null && endedMs > ENDS_WITHIN_MS)).toEqual([]);
    expect(measured.filter(({ left }) => left.length > 0)).toEqual([]);
  },
  1_200_000,
);
