/**
 * A user of the machine who cannot read the installation's secret opens connections to a node's
 * port and keeps them open, to exhaust its memory or its connections.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SEAL_MAX_BYTES } from '../../../transport/packet-seal.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from '../../../transport/transport-limits.ts';
import { type TestNode, TransportCluster } from '../../cluster/transport/cluster.ts';
import { until } from '../../support/until.ts';

const HEADER_BYTES = 6;
const REQUEST = 2;
/** The longest packet that a member sends. */
const LONGEST = HEADER_BYTES + TRANSPORT_LIMITS.tcpPacketMaxBytes + SEAL_MAX_BYTES;
/** Unauthenticated connections are never closed for their age during the test. */
const PATIENT = { strangerMaxMs: 86_400_000 };

/** The header of Moleculer's TCP packets. */
function header(length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeInt32BE(length, 1);
  bytes[5] = REQUEST;
  bytes[0] = bytes.subarray(1).reduce((crc, byte) => crc ^ byte, 0);
  return bytes;
}

let cluster: TransportCluster;
let a: TestNode;
let b: TestNode;
let strangers: Socket[];

beforeEach(() => {
  cluster = new TransportCluster({ kind: 'TCP' });
  strangers = [];
});
afterEach(async () => {
  for (const socket of strangers) socket.destroy();
  await cluster.stop();
});

async function start(limits: Partial<TransportLimits>): Promise<void> {
  a = await cluster.start('a', limits);
  b = await cluster.start('b', limits);
  await cluster.meet();
}

async function stranger(...sent: Buffer[]): Promise<Socket> {
  const socket = connect(a.port, '127.0.0.1').on('error', () => undefined);
  strangers.push(socket);
  await once(socket, 'connect');
  // A paused socket does not notice its end.
  socket.resume();
  for (const bytes of sent) await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  return socket;
}

const isClosed = (socket: Socket): boolean => socket.readableEnded || socket.destroyed;
const untilClosed = (socket: Socket) => until('the stranger is closed', () => isClosed(socket));

/** Members that have lost each other since the call. */
function losses(): string[] {
  const lost: string[] = [];
  for (const { broker } of [a, b])
    broker.localBus.on('$node.disconnected', ({ node }: { node: { id: string } }) => lost.push(node.id));
  return lost;
}

async function expectMembersCall(): Promise<void> {
  expect(await a.broker.call('b.whoCalls')).toBe('a');
  expect(await b.broker.call('a.whoCalls')).toBe('b');
}

test("a packet longer than any member's is refused by its header, and the longest valid one is read", async () => {
  await start(PATIENT);
  const longest = await stranger(header(LONGEST), Buffer.alloc(1_000));
  await untilClosed(await stranger(header(LONGEST + 1)));
  await untilClosed(await stranger(header(2 ** 31 - 1)));
  // The same when the bad header starts in the middle of a chunk, and when it arrives byte by byte.
  await untilClosed(await stranger(Buffer.concat([header(20), Buffer.alloc(14), header(1_000_000)])));
  const slow = await stranger();
  slow.setNoDelay(true);
  for (const byte of header(1_000_000)) {
    slow.write(Buffer.from([byte]));
    await delay(5);
  }
  await untilClosed(slow);
  const dropped = await a.metric('drops_total');
  longest.write(Buffer.alloc(LONGEST - HEADER_BYTES - 1_000));
  await until('the longest packet was read whole', async () => (await a.metric('drops_total')) > dropped);
  expect(isClosed(longest)).toBe(false);
  await expectMembersCall();
});

test('messages of every size near that bound pass between members', async () => {
  await start({});
  const around = TRANSPORT_LIMITS.tcpPacketMaxBytes;
  for (let length = around - 400; length < around + 400; length += 40) {
    const bytes = Buffer.alloc(length, 1);
    expect(((await a.broker.call('b.echo', { bytes })) as { bytes: Buffer }).bytes).toHaveLength(length);
  }
});

test("an unfinished or missing packet closes its connection after some seconds, and members' connections stay", async () => {
  await start({ strangerMaxMs: 300 });
  await expectMembersCall();
  const lost = losses();
  const held = await Promise.all([
    stranger(),
    stranger(header(LONGEST), Buffer.alloc(10_000)),
    stranger(Buffer.concat([header(20), Buffer.alloc(14), header(LONGEST)])),
  ]);
  for (const socket of held) await untilClosed(socket);
  await expectMembersCall();
  expect(lost).toEqual([]);
});

test('a bounded number of strangers is kept, the oldest go first, and no member gives way to them', async () => {
  await start({ ...PATIENT, strangersMax: 4 });
  await expectMembersCall();
  const lost = losses();
  const held: Socket[] = [];
  for (let count = 0; count < 10; count++) held.push(await stranger(header(LONGEST), Buffer.alloc(10_000)));
  for (const socket of held.slice(0, 6)) await untilClosed(socket);
  await expectMembersCall();
  expect(held.map(isClosed)).toEqual([...Array(6).fill(true), ...Array(4).fill(false)]);
  expect(lost).toEqual([]);
});

test('a node joins during an endless stream of strangers', async () => {
  await start({ strangersMax: 64 });
  let isOver = false;
  const flood = (async () => {
    while (!isOver) await stranger(header(LONGEST), Buffer.alloc(1_000));
  })();
  await cluster.start('c', {});
  await cluster.meet();
  expect(await cluster.nodes[2]!.broker.call('a.whoCalls')).toBe('c');
  await expectMembersCall();
  isOver = true;
  await flood;
});
