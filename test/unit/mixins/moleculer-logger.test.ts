import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { pino } from 'pino';
import { MoleculerLogger } from '../../../mixins/moleculer-logger.ts';
import { until } from '../../support/until.ts';

interface Line {
  level: number;
  time: number;
  module: string;
  msg: string;
  repeated?: number;
}

const WARN = 40;
const ERROR = 50;

function logger(mod = 'transit') {
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const moleculer = new MoleculerLogger(log);
  const handler = moleculer.getLogHandler({ mod });
  return { lines, handler, moleculer };
}

const standsFor = (lines: Line[]): number => lines.reduce((sum, { repeated = 1 }) => sum + repeated, 0);

/** Transit's messages about a request while this node has no connection. */
const unsent = (action: string, node: string) =>
  [
    `Unable to send '${action}' request with requestID '${randomUUID()}' to '${node}' node.`,
    new Errors.BrokerDisconnectedError(''),
  ] as const;

test('a disconnected node logs it at once and then once a second, with the number of requests', async () => {
  const { lines, handler } = logger();
  for (let at = 0; at < 500; at++) handler('error', [...unsent(`collections.${at % 7}`, `shards-${at % 3}`)]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: ERROR, module: 'transit' });
  expect(lines[0].repeated).toBeUndefined();
  await until('the rest is counted', () => lines.length === 2);
  expect(lines[1]).toMatchObject({ level: ERROR, repeated: 499, err: { type: 'BrokerDisconnectedError' } });
  // A timer of one second may fire slightly early by the wall clock.
  expect(lines[1].time - lines[0].time).toBeGreaterThanOrEqual(990);
  handler('error', [...unsent('keys.authenticate', 'control-1')]);
  handler('error', [...unsent('keys.authenticate', 'control-1')]);
  await until('those after it are too', () => standsFor(lines) === 502);
  expect(lines).toHaveLength(3);
});

test('a different message is written at once, whatever else repeats', () => {
  const { lines, handler } = logger();
  for (let at = 0; at < 10; at++) handler('error', [...unsent('a.b', 'c')]);
  handler('error', [unsent('a.b', 'c')[0], new Errors.RequestRejectedError({ action: 'a.b', nodeID: 'c' })]);
  handler('error', [unsent('a.b', 'd')[0], new Errors.RequestRejectedError({ action: 'a.b', nodeID: 'd' })]);
  handler('warn', ["Heartbeat is not received from 'c' node."]);
  handler('warn', ["Heartbeat is not received from 'd' node."]);
  handler('error', [new TypeError('one')]);
  handler('error', [new TypeError('another')]);
  expect(lines).toHaveLength(7);
  expect(lines.filter(({ repeated }) => repeated !== undefined)).toEqual([]);
});

test('the end of the broker loses no count, and later lines are not delayed', async () => {
  const { lines, handler, moleculer } = logger();
  for (let at = 0; at < 10; at++) handler('error', [...unsent('a.b', 'c')]);
  await moleculer.stop();
  expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 9]);
  for (let at = 0; at < 2; at++) handler('error', [...unsent('a.b', 'c')]);
  expect(standsFor(lines)).toBe(12);
  expect(lines).toHaveLength(4);
});

test('a fatal line is always written', () => {
  const { lines, handler } = logger();
  for (let at = 0; at < 3; at++) handler('fatal', ['The same.']);
  expect(lines).toHaveLength(3);
});

test('a call to a stopped service is not a warning: its caller asks another node', () => {
  const { lines, handler } = logger();
  handler('warn', ["Service 'shards.head' is not registered locally."]);
  expect(lines.filter(({ level }) => level >= WARN)).toEqual([]);
  handler('warn', ["Service 'shards.head' is not available."]);
  expect(lines.filter(({ level }) => level >= WARN)).toHaveLength(1);
});
