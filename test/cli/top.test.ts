/** `provec top`: figures from two reads of a gateway's metrics. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { screenLines } from '../../cli/top/top-lines.ts';
import { FigureReader } from '../../client/metrics/figures.ts';
import { MetricsPage, quantileBetween } from '../../client/metrics/metrics-page.ts';
import { AnsweringServer } from '../support/answering-server.ts';
import { runCommand } from '../support/command-in-process.ts';
import { PROVEC, startProgram } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const QUERY = '/api/v1/collections/{name}/query';
const PINECONE = '/pinecone/query';
const UPSERT = '/api/v1/collections/{name}/upsert';

/** A page with these cumulative counts, in the order of the bounds 0.01, 0.1 and infinity. */
function pageOf(counts: Record<string, [number, number, number]>, others = '', startedAt = 1_000): MetricsPage {
  const lines = Object.entries(counts).flatMap(([route, buckets]) => [
    ...['0.01', '0.1', '+Inf'].map(
      (bound, at) =>
        `provec_http_request_duration_seconds_bucket{le="${bound}",route="${route}",method="POST"} ${buckets[at]}`,
    ),
    `provec_http_request_duration_seconds_count{route="${route}",method="POST"} ${buckets[2]}`,
    `provec_http_requests_total{route="${route}",method="POST",status="200"} ${buckets[2]}`,
  ]);
  const text = ['# HELP x An x.', `process_start_time_seconds ${startedAt}`, ...lines, others].join('\n');
  return new MetricsPage(text);
}

describe('figures', () => {
  test('are of what happened between two reads, by kind of request', () => {
    const reader = new FigureReader();
    const first = pageOf({ [QUERY]: [100, 100, 100], [UPSERT]: [0, 5, 5] });
    expect(reader.next(first, 0)).toMatchObject({ rates: null, anchors: null });
    const errors = 'provec_http_requests_total{route="x",method="GET",status="503"} 4';
    const gauges = 'provec_anchors_pending 3\nprovec_anchors_oldest_pending_seconds 7.5\nprovec_anchors_halted 1';
    const counts = { [QUERY]: [190, 200, 200] as const, [PINECONE]: [0, 0, 0] as const, [UPSERT]: [0, 5, 6] as const };
    const second = pageOf(counts as unknown as Record<string, [number, number, number]>, `${errors}\n${gauges}`);
    const { rates, anchors } = reader.next(second, 2_000);
    expect(rates).toEqual({
      seconds: 2,
      queries: { perSecond: 50, p50Ms: expect.closeTo(5.56, 2), p99Ms: expect.closeTo(91, 5) },
      upserts: { perSecond: 0.5, p50Ms: 100, p99Ms: 100 },
      requests: { perSecond: 52.5, errorsPerSecond: 2 },
    });
    expect(anchors).toEqual({ pending: 3, oldestPendingSeconds: 7.5, halted: 1 });
  });

  test('compare only reads of one process: a restart, or another gateway, begins anew', () => {
    const reader = new FigureReader();
    reader.next(pageOf({ [QUERY]: [10, 10, 10] }), 0);
    expect(reader.next(pageOf({ [QUERY]: [2, 2, 2] }, '', 2_000), 1_000).rates).toBeNull();
    expect(reader.next(pageOf({ [QUERY]: [14, 14, 14] }), 2_000).rates?.queries.perSecond).toBe(2);
  });
});

test('a quantile is interpolated in its bucket; beyond the last bound it is that bound', () => {
  const before = new Map([
    [1, 0],
    [2, 0],
    [Number.POSITIVE_INFINITY, 0],
  ]);
  const after = new Map([
    [1, 50],
    [2, 100],
    [Number.POSITIVE_INFINITY, 200],
  ]);
  expect(quantileBetween(before, after, 0.25)).toBe(1);
  expect(quantileBetween(before, after, 0.375)).toBe(1.5);
  expect(quantileBetween(before, after, 0.99)).toBe(2);
  expect(quantileBetween(after, after, 0.5)).toBeNull();
});

/** Whether this machine has the `script` of util-linux, which runs a command on a terminal. */
const hasTerminal = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');
if (!hasTerminal) process.stderr.write('\n!!! The test of provec top on a terminal is LEFT OUT: no script. !!!\n\n');

describe('on a running service', () => {
  let service: SharedService;
  beforeAll(async () => {
    service = await shareService('anchored');
  });
  const top = (url: string, ...args: string[]) =>
    runCommand(['top', '--once', '--interval', '0.1', ...args], { PROVEC_URL: url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });

  test('--once prints a line, or a document with the same figures', async () => {
    const line = await top(service.url);
    expect(line).toMatchObject({ code: 0, stderr: '' });
    expect(line.stdout).toMatch(
      /^\S+Z {2}queries \S+\/s, p50 .*, p99 .* {2}upserts \S+\/s, .* {2}shard nodes 1 of 1 {2}memory .* of .* {2}anchors \d+ waiting, oldest .*, 0 halted\n$/,
    );
    const { stdout } = await top(service.url, '--json');
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      rates: { seconds: expect.any(Number), requests: { perSecond: expect.any(Number) } },
      gateway: { memoryBytes: expect.any(Number) },
      shardNodes: [{ error: null }],
    });
    // The request of the first read is counted in the second.
    expect(document.rates.requests.perSecond).toBeGreaterThan(0);
    const screen = screenLines(document, service.url).join('\n');
    for (const part of ['queries', 'upserts', 'anchors', 'shard node', 'serving']) expect(screen).toContain(part);
  });

  test('an address without metrics, or a wrong token, is an error', async () => {
    const server = await AnsweringServer.start({ 'GET /admin/nodes': { shardNodes: [], others: [], omitted: 0 } });
    expect(await top(server.url)).toMatchObject({ code: 4, stderr: expect.stringContaining('shows no metrics: HTTP') });
    server.close();
    const wrong = { PROVEC_URL: service.url, PROVEC_ADMIN_TOKEN: service.key };
    expect(await runCommand(['top', '--once'], wrong)).toMatchObject({ code: 3, stdout: '' });
  });

  (hasTerminal ? test : test.skip)('redraws a terminal, within its size, and leaves it as it was', async () => {
    const [rows, columns] = [6, 60];
    const folder = await mkdtemp(join(tmpdir(), 'provec-top-'));
    const pidFile = join(folder, 'pid');
    const command = `echo $$ > ${pidFile}; stty rows ${rows} cols ${columns}; exec "${process.execPath}" "${PROVEC}" top --interval 0.1`;
    const environment = { PROVEC_URL: service.url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, TERM: 'xterm', HOME: folder };
    const run = startProgram('script', ['-qfec', command, '/dev/null'], { environment });
    let shown = '';
    run.child.stdout!.on('data', (text: string) => {
      shown += text;
    });
    const [open, home, close] = ['\u001b[?1049h\u001b[?25l', '\u001b[H', '\u001b[?25h\u001b[?1049l'];
    await until('it has drawn again', () => shown.split(home).length > 3);
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGINT');
    const { code, stdout } = await run.ended;
    await rm(folder, { recursive: true });
    expect(code).toBe(130);
    const [before, ...frames] = stdout.split(home);
    expect(before).toContain(open);
    expect(stdout.slice(stdout.lastIndexOf(home))).toContain(close);
    for (const frame of frames) {
      const lines = stripVTControlCharacters(frame.split('\u001b[J')[0]!).split('\r\n').slice(0, -1);
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.length).toBeLessThan(rows);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    }
    expect(frames.at(-1)).toMatch(/queries/);
  });
});
