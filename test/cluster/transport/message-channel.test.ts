import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { decodeFrame, encodePart, isFrame } from '../../../transport/frame.ts';
import { MessageChannel, MessageTooLarge } from '../../../transport/message-channel.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from '../../../transport/transport-limits.ts';
import { TransportMetrics } from '../../../transport/transport-metrics.ts';
import { until } from '../../support/until.ts';

const KIB = 1024;
const SMALL: TransportLimits = {
  ...TRANSPORT_LIMITS,
  packetMaxBytes: 1 * KIB,
  messageMaxBytes: 64 * KIB,
  messageWindowMaxBytes: 4 * KIB,
  incompleteMaxBytes: 96 * KIB,
  incompletePerNodeMaxBytes: 80 * KIB,
  incompletePerNodeMax: 4,
  acknowledgementWaitMaxMs: 200,
  incompleteMaxAgeMs: 300,
};

interface Node {
  channel: MessageChannel;
  received: Buffer[];
  log: string[];
  metric(name: string, label?: string): Promise<number>;
}

/** A network that delivers packets to their addressee, unless `pass` decides otherwise. */
class Net {
  readonly nodes = new Map<string, Node>();
  /** Every packet sent, with its receiver. */
  readonly packets: { to: string; packet: Buffer }[] = [];
  pass: (to: string, packet: Buffer) => boolean | Promise<boolean> = () => true;

  join(nodeID: string, limits: TransportLimits = SMALL): Node {
    const registry = new Registry();
    const log: string[] = [];
    const received: Buffer[] = [];
    const wire = async (_cmd: string, target: string | null, packet: Buffer) => {
      for (const to of target === null ? this.nodes.keys() : [target]) {
        this.packets.push({ to, packet });
        if (!(await this.pass(to, packet))) continue;
        const message = this.nodes.get(to)!.channel.receive(Buffer.from(packet));
        if (message !== null) this.nodes.get(to)!.received.push(message);
      }
    };
    const options = {
      nodeID,
      limits,
      log: pino({}, { write: (line) => log.push(line) }),
      metrics: new TransportMetrics(registry),
    };
    const metric = async (name: string, label?: string) => {
      const { values } = (await registry.getSingleMetric(`provec_transport_${name}`)!.get()) as {
        values: { value: number; labels: Record<string, string> }[];
      };
      return values.filter(({ labels }) => label === undefined || Object.values(labels).includes(label))[0]?.value ?? 0;
    };
    const node = { channel: new MessageChannel(wire, options), received, log, metric };
    this.nodes.set(nodeID, node);
    return node;
  }
}

const bytesOf = (length: number, seed = 1) =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + seed * 7) & 0xff));

describe('messages of any size arrive complete', () => {
  test('to one node and to all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.oneof(fc.nat(24 * KIB), fc.constantFrom(0, 1, 1023, 1024, 1025)), fc.boolean()), {
          maxLength: 3,
        }),
        async (messages) => {
          const net = new Net();
          const a = net.join('a');
          const b = net.join('b');
          const sent = messages.map(([size], i) => bytesOf(size, i + 1));
          await Promise.all(messages.map(([, toAll], i) => a.channel.send('REQ', toAll ? null : 'b', sent[i])));
          const key = (bytes: Buffer) => bytes.toString('base64');
          expect(b.received.map(key).sort()).toEqual(sent.map(key).sort());
          expect(b.channel.incompleteBytes).toBe(0);
          expect(Math.max(0, ...net.packets.map(({ packet }) => packet.length))).toBeLessThanOrEqual(
            SMALL.packetMaxBytes,
          );
          for (const { channel } of net.nodes.values()) channel.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a message that begins like a frame is not mistaken for one', async () => {
    const net = new Net();
    const a = net.join('a');
    const b = net.join('b');
    const looksLikeAFrame = Buffer.from([0xff, 1, 2, 3]);
    await a.channel.send('REQ', 'b', looksLikeAFrame);
    expect(b.received).toEqual([looksLikeAFrame]);
  });
});

test('the sender stays within a window of the receiver, and sends one part until the receiver agrees', async () => {
  const net = new Net();
  const a = net.join('a', { ...SMALL, acknowledgementWaitMaxMs: 10_000 });
  net.join('b', { ...SMALL, acknowledgementWaitMaxMs: 10_000 });
  const held: (() => void)[] = [];
  // Acknowledgements are held back: b is slow.
  net.pass = (to) => to !== 'a' || new Promise((resolve) => held.push(() => resolve(true)));
  const toB = () => net.packets.filter(({ to }) => to === 'b').length;
  const sent = a.channel.send('REQ', 'b', bytesOf(20 * KIB));
  await until('the first part is acknowledged', () => held.length === 1);
  expect(toB()).toBe(1);
  held.shift()!();
  await until('a window was sent', () => toB() > 1);
  const settled = await Promise.race([
    sent.then(() => true),
    until('parts are held', () => held.length >= 3).then(() => false),
  ]);
  expect(settled).toBe(false);
  expect((toB() - 1) * SMALL.packetMaxBytes).toBeLessThanOrEqual(SMALL.messageWindowMaxBytes + SMALL.packetMaxBytes);
  net.pass = () => true;
  for (const release of held) release();
  await sent;
});

describe('a message that cannot arrive fails at its sender, and its receiver logs the drop', () => {
  test('a lost part', async () => {
    const net = new Net();
    const a = net.join('a');
    const b = net.join('b');
    let parts = 0;
    net.pass = (to) => to !== 'b' || ++parts !== 5;
    await expect(a.channel.send('REQ', 'b', bytesOf(20 * KIB))).rejects.toThrow('refused');
    expect(b.received).toEqual([]);
    expect(b.channel.incompleteBytes).toBe(0);
    expect(await b.metric('drops_total', 'out of order')).toBeGreaterThan(0);
    expect(b.log.join()).toContain('dropped a message from another node');
    expect(await a.metric('send_failures_total')).toBe(1);
  });

  test('a lost end: the receiver forgets the message after a while', async () => {
    const net = new Net();
    const a = net.join('a');
    const b = net.join('b');
    let parts = 0;
    net.pass = (to) => to !== 'b' || ++parts < 5;
    await expect(a.channel.send('REQ', 'b', bytesOf(20 * KIB))).rejects.toThrow('silent');
    expect(b.channel.incompleteBytes).toBe(20 * KIB);
    await until('it is forgotten', () => b.channel.incompleteBytes === 0);
    expect(await b.metric('drops_total', 'aged')).toBe(1);
    expect(b.received).toEqual([]);
  });

  test('a duplicate part', async () => {
    const net = new Net();
    const b = net.join('b');
    const part = { id: 'ab'.repeat(16), sender: 'a', acknowledge: false, messageBytes: 600, data: bytesOf(300) };
    for (const offset of [0, 0, 300]) b.channel.receive(encodePart({ ...part, offset }));
    expect(b.channel.incompleteBytes).toBe(0);
    expect(b.received).toEqual([]);
  });

  test('a message over the limit, before anything is sent', async () => {
    const net = new Net();
    const a = net.join('a');
    net.join('b');
    await expect(a.channel.send('REQ', 'b', bytesOf(64 * KIB + 1))).rejects.toThrow(MessageTooLarge);
    expect(net.packets).toEqual([]);
  });

  test('a receiver that has left', async () => {
    const net = new Net();
    const a = net.join('a', { ...SMALL, acknowledgementWaitMaxMs: 60_000 });
    const b = net.join('b');
    let parts = 0;
    net.pass = (to) => to !== 'b' || ++parts < 5;
    const sent = a.channel.send('REQ', 'b', bytesOf(20 * KIB));
    await until('some parts are there', () => b.channel.incompleteBytes > 0);
    a.channel.nodeGone('b');
    await expect(sent).rejects.toThrow('gone');
    b.channel.nodeGone('someone else');
    expect(b.channel.incompleteBytes).toBeGreaterThan(0);
    b.channel.nodeGone('a');
    expect(b.channel.incompleteBytes).toBe(0);
  });

  test('bytes that are not a frame', async () => {
    const net = new Net();
    const b = net.join('b');
    const part = encodePart({
      id: 'ab'.repeat(16),
      sender: 'a',
      acknowledge: true,
      offset: 0,
      messageBytes: 9,
      data: bytesOf(9),
    });
    const broken = [Buffer.from([0xff]), Buffer.from([0xff, 9]), part.subarray(0, 20), part.subarray(0, 29)];
    const beyond = Buffer.from(part);
    beyond.writeUInt32BE(8, 23);
    for (const bytes of [...broken, beyond]) expect(b.channel.receive(bytes)).toBeNull();
    expect(await b.metric('drops_total', 'undecodable')).toBe(5);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (tail) => {
        const bytes = Buffer.concat([Buffer.from([0xff]), tail]);
        expect(isFrame(bytes)).toBe(true);
        expect(b.channel.receive(bytes)).toBeNull();
        expect(b.channel.incompleteBytes).toBeLessThanOrEqual(SMALL.incompleteMaxBytes);
      }),
    );
  });
});

describe('memory for incomplete messages is bounded', () => {
  const begin = (node: Node, sender: string, i: number, messageBytes: number) =>
    node.channel.receive(
      encodePart({
        id: i.toString(16).padStart(32, '0'),
        sender,
        acknowledge: false,
        offset: 0,
        messageBytes,
        data: bytesOf(10),
      }),
    );

  test.each([
    ['in bytes of one sender', ['a', 'a', 'a'], 30 * KIB, 60 * KIB],
    ['in number of one sender', ['a', 'a', 'a', 'a', 'a', 'a'], 1 * KIB, 4 * KIB],
    ['in total', ['a', 'b', 'c', 'd'], 40 * KIB, 80 * KIB],
    ['in one message', ['a'], 64 * KIB + 1, 0],
  ])('%s', async (_what, senders, messageBytes, held) => {
    const node = new Net().join('x');
    for (const [i, sender] of senders.entries()) begin(node, sender, i, messageBytes);
    expect(node.channel.incompleteBytes).toBe(held);
    const refused = (await node.metric('drops_total', 'no room')) + (await node.metric('drops_total', 'too large'));
    expect(refused).toBe(senders.length - held / messageBytes);
  });

  test('a refused sender is told at once', async () => {
    const net = new Net();
    const a = net.join('a', { ...SMALL, acknowledgementWaitMaxMs: 60_000 });
    const b = net.join('b', { ...SMALL, incompletePerNodeMaxBytes: 10 * KIB });
    await expect(a.channel.send('REQ', 'b', bytesOf(20 * KIB))).rejects.toThrow('refused');
    expect(b.received).toEqual([]);
  });
});

test('messages wait their turn, for a bounded time', async () => {
  const net = new Net();
  const limits = { ...SMALL, messagesInPartsMax: 1, turnWaitMaxMs: 100, acknowledgementWaitMaxMs: 60_000 };
  const a = net.join('a', limits);
  const b = net.join('b', limits);
  net.pass = (to) => to !== 'a';
  const first = a.channel.send('REQ', 'b', bytesOf(3 * KIB));
  await expect(a.channel.send('REQ', 'b', bytesOf(3 * KIB))).rejects.toThrow('Too many');
  a.channel.nodeGone('b');
  await expect(first).rejects.toThrow('gone');
  net.pass = () => true;
  await a.channel.send('REQ', 'b', bytesOf(3 * KIB, 5));
  expect(b.received).toEqual([bytesOf(3 * KIB, 5)]);
});

test('draining waits for messages in progress', async () => {
  const net = new Net();
  const a = net.join('a');
  const b = net.join('b');
  void a.channel.send('RES', 'b', bytesOf(30 * KIB));
  await a.channel.drain();
  expect(b.received).toEqual([bytesOf(30 * KIB)]);
});

test('frames survive their encoding', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.uint8Array({ minLength: 1 }),
      fc.nat(1000),
      (sender, data, offset) => {
        fc.pre(sender.isWellFormed());
        const part = {
          kind: 'part' as const,
          id: '0123456789abcdef'.repeat(2),
          sender,
          acknowledge: offset % 2 === 0,
          offset,
          messageBytes: offset + data.length,
          data: Buffer.from(data),
        };
        expect(decodeFrame(encodePart(part))).toEqual(part);
      },
    ),
  );
});
