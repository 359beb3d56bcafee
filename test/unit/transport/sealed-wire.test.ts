/**
 * An attacker on the wire between nodes reads every packet, holds packets back, replays them to any
 * node at any time, and sends other packets. The attacker has the program and the namespace, but
 * not the secret.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Keyring } from '../../../lib/secret/keyring.ts';
import { transportKeys } from '../../../lib/secret/keyring.ts';
import { NoReceiver } from '../../../transport/outbound-messages.ts';
import { BEACON, HELLO, SealedWire } from '../../../transport/sealed-wire.ts';
import { TransportMetrics } from '../../../transport/transport-metrics.ts';
import { FORGED_TRANSPORT_KEYS, TEST_SECRET, TEST_TRANSPORT_KEYS } from '../../support/store-keys.ts';

interface Sent {
  from: Process;
  cmd: string;
  target: string | null;
  packet: Buffer;
}

/** One life of a node. */
class Process {
  readonly nodeID: string;
  readonly wire: SealedWire;
  /** Accepted packets: sender, type and text. */
  readonly taken: string[] = [];
  readonly members: string[] = [];
  nowMs = 0;

  constructor(nodeID: string, keys: Keyring = TEST_TRANSPORT_KEYS, namespace = 'cluster') {
    this.nodeID = nodeID;
    this.wire = new SealedWire(
      async (cmd, target, packet) => {
        const sent = { from: this, cmd, target, packet };
        net.sent.push(sent);
        if (net.passes(sent)) net.deliver(sent);
      },
      {
        nodeID,
        namespace,
        keys,
        log: pino({ level: 'silent' }),
        metrics: new TransportMetrics(new Registry()),
        memberWaitMaxMs: 50,
        monotonicMs: () => this.nowMs,
        announce: (to) => void this.wire.send(HELLO, to, Buffer.from('where')),
        onMember: (id) => this.members.push(id),
      },
    );
    net.processes.push(this);
  }

  /** Receives a packet; returns the accepted packet, or null. */
  receive({ cmd, packet }: Pick<Sent, 'cmd' | 'packet'>): string | null {
    const opened = this.wire.open(cmd, Buffer.from(packet));
    if (opened === null) return null;
    const said = `${opened.sender} ${cmd} ${opened.packet}`;
    this.taken.push(said);
    return said;
  }

  say(cmd: string, target: string | null, text: string): Promise<void> {
    return this.wire.send(cmd, target, Buffer.from(text));
  }

  end(): void {
    net.processes.splice(net.processes.indexOf(this), 1);
    this.wire.close();
  }
}

class Net {
  readonly processes: Process[] = [];
  readonly sent: Sent[] = [];
  passes: (sent: Sent) => boolean = () => true;

  deliver(sent: Sent): void {
    for (const process of [...this.processes]) {
      if (sent.target === null || sent.target === process.nodeID) process.receive(sent);
    }
  }
}

/** Resolves when all follow-up messages have been sent. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

let net: Net;
let a: Process;
let b: Process;

/** Two nodes that know each other. */
beforeEach(async () => {
  net = new Net();
  a = new Process('a');
  b = new Process('b');
  await a.say('HEARTBEAT', null, 'I am here');
  await settled();
  expect([a.members, b.members]).toEqual([['b'], ['a']]);
});
afterEach(() => {
  for (const process of [...net.processes]) process.end();
});

test('authenticated nodes receive each other, alone and among all, and the wire carries no plain text', async () => {
  await a.say('REQ', 'b', 'for b alone');
  await b.say('RES', 'a', 'for a alone');
  await a.say('INFO', null, 'for all');
  expect(b.taken).toEqual(['a REQ for b alone', 'a INFO for all']);
  expect(a.taken).toEqual(['b RES for a alone']);
  for (const { packet } of net.sent) expect(packet.toString('latin1')).not.toMatch(/alone|all|here/);
});

describe('an attacker replays packets', () => {
  test('to the same process', async () => {
    await a.say('REQ', 'b', 'once');
    await a.say('INFO', null, 'once');
    const taken = [...b.taken];
    for (const sent of [...net.sent]) b.receive(sent);
    expect(b.taken).toEqual(taken);
  });

  test('to the next process of the same node', async () => {
    await a.say('REQ', 'b', 'once');
    await a.say('DISCONNECT', null, 'once');
    b.end();
    const next = new Process('b');
    for (const sent of [...net.sent]) next.receive(sent);
    await settled();
    expect(next.taken).toEqual([]);
  });

  test('of a process that has ended, to one that never knew it', async () => {
    await a.say('INFO', null, 'I serve everything');
    a.end();
    const late = new Process('late');
    for (const sent of net.sent.filter(({ from }) => from === a)) late.receive(sent);
    await settled();
    expect(late.taken).toEqual([]);
    expect(late.members).toEqual([]);
  });

  test('of a running process, to one that joined later', async () => {
    await a.say('DISCONNECT', null, 'before');
    const old = net.sent.at(-1)!;
    const late = new Process('late');
    late.receive(old);
    await settled();
    expect(late.members).toEqual(['a']);
    expect(late.receive(old)).toBeNull();
    await a.say('INFO', null, 'since');
    expect(late.taken).toEqual(['a INFO since']);
  });

  test('to another node, as another type, or back to their sender', async () => {
    const c = new Process('c');
    await c.say('HEARTBEAT', null, 'here');
    await settled();
    net.passes = () => false;
    await a.say('REQ', 'b', 'for b');
    const sent = net.sent.at(-1)!;
    expect([c.receive(sent), a.receive(sent), b.receive({ ...sent, cmd: 'EVENT' })]).toEqual([null, null, null]);
    expect(b.receive(sent)).toBe('a REQ for b');
  });

  test('of a process that has since ended, to one that it had authenticated with: once at most', async () => {
    net.passes = () => false;
    await a.say('REQ', 'b', 'kept back');
    const sent = net.sent.at(-1)!;
    net.passes = () => true;
    a.end();
    await new Process('a').say('HEARTBEAT', null, 'here again');
    await settled();
    expect([b.receive(sent), b.receive(sent)]).toEqual(['a REQ kept back', null]);
  });

  test('much later than others, but for the first time', async () => {
    net.passes = () => false;
    await a.say('REQ', 'b', 'first');
    const first = net.sent.at(-1)!;
    net.passes = () => true;
    for (let more = 0; more < 5_000; more++) await a.say('REQ', 'b', 'more');
    expect(b.receive(first)).toBeNull();
  });
});

describe('an attacker sends its own packets', () => {
  test('sealed with another secret, in another namespace, or not at all', async () => {
    const taken = [...b.taken];
    const strangers = [new Process('a', FORGED_TRANSPORT_KEYS), new Process('a', TEST_TRANSPORT_KEYS, 'another')];
    for (const stranger of strangers) {
      await stranger.say('INFO', null, 'I am a');
      await stranger.say(HELLO, 'b', 'come');
      await expect(stranger.say('REQ', 'b', 'do it')).rejects.toThrow(NoReceiver);
      expect(stranger.taken).toEqual([]);
    }
    for (const bytes of [
      '',
      '\xe1',
      '{"ver":"4","sender":"a"}',
      `\xe1\x00${'x'.repeat(60)}`,
      `\xe1\x01${'x'.repeat(60)}`,
    ])
      for (const cmd of ['REQ', 'INFO', HELLO, BEACON]) b.receive({ cmd, packet: Buffer.from(bytes, 'latin1') });
    expect(b.taken).toEqual(taken);
    expect(b.members).toEqual(['a']);
  });

  test('with any bit of a packet changed', async () => {
    net.passes = () => false;
    await a.say('REQ', 'b', 'do it');
    const sent = net.sent.at(-1)!;
    for (let bit = 0; bit < sent.packet.length * 8; bit++) {
      const packet = Buffer.from(sent.packet);
      packet[bit >> 3]! ^= 1 << (bit & 7);
      expect(b.receive({ ...sent, packet })).toBeNull();
    }
    expect(b.receive(sent)).toBe('a REQ do it');
  });
});

describe('an attacker makes a process forget another', () => {
  /** More unauthenticated processes than a process remembers. */
  const CROWD = 1_100;
  let heard: Sent;
  let crowd: Sent[];

  /**
   * Broadcasts of many processes, and then of c. Only the attacker has them; no proof gets through.
   */
  beforeEach(async () => {
    net.passes = ({ target }) => target === null;
    const c = new Process('c');
    const strangers = Array.from({ length: CROWD }, (_, i) => new Process(`s${i}`));
    net.passes = () => false;
    for (const process of [...strangers, c]) await process.say('HEARTBEAT', null, 'here');
    crowd = net.sent.slice(-CROWD - 1, -1);
    heard = net.sent.at(-1)!;
  });

  test('and it still reuses no nonce', async () => {
    // The proof for the forgotten process is still queued.
    for (const sent of [heard, ...crowd, heard]) a.receive(sent);
    await settled();
    for (const sent of crowd) a.receive(sent);
    await settled();
    a.receive(heard);
    await settled();
    const forC = net.sent.filter(({ from, target }) => from === a && target === 'c');
    const nonces = forC.map(({ packet }) => packet.readBigUInt64BE(22));
    expect(nonces).toHaveLength(3);
    expect(new Set(nonces).size).toBe(3);
  });

  test('and it still accepts no packet twice', async () => {
    await b.say('REQ', 'a', 'once');
    const once = net.sent.at(-1)!;
    expect(a.receive(once)).toBe('b REQ once');
    for (const sent of [heard, ...crowd, heard]) a.receive(sent);
    await settled();
    expect(a.receive(once)).toBeNull();
  });
});

describe('nodes that restart', () => {
  test('authenticate anew, and packets in flight to the earlier process are lost', async () => {
    b.end();
    const next = new Process('b');
    await a.say('REQ', 'b', 'to the one before');
    expect(next.taken).toEqual([]);
    await next.say('DISCOVER', null, 'who is there');
    await settled();
    await a.say('REQ', 'b', 'to the next');
    expect(next.taken).toEqual(['a REQ to the next']);
  });

  test('a packet for an unknown node waits until that has authenticated, or rejects', async () => {
    const c = new Process('c');
    await c.say('REQ', 'a', 'unasked');
    expect(a.taken.at(-1)).toBe('c REQ unasked');
    await expect(a.say('REQ', 'nobody', 'lost')).rejects.toThrow(NoReceiver);
  });

  test('lost proofs are requested again', async () => {
    const c = new Process('c');
    net.passes = ({ cmd }) => cmd !== 'RES';
    await c.say('HEARTBEAT', null, '1');
    await settled();
    expect(c.members).toEqual([]);
    net.passes = () => true;
    for (const process of [a, b]) process.nowMs += 1_000;
    await c.say('HEARTBEAT', null, '2');
    await settled();
    expect(c.members.sort()).toEqual(['a', 'b']);
    expect(a.members).toEqual(['b', 'c']);
  });

  test("a node that authenticated and lost the other's proof gets it again when it announces its address", async () => {
    const c = new Process('c');
    // c proves itself to a, but never receives a's proof.
    net.passes = ({ from, cmd }) => !(from === a && cmd === 'RES');
    await a.say('HEARTBEAT', null, 'here');
    await settled();
    expect(a.members).toContain('c');
    expect(c.members).not.toContain('a');
    net.passes = () => true;
    a.nowMs += 1_000;
    await c.say('REQ', 'a', 'wait for it');
    expect(a.taken.at(-1)).toBe('c REQ wait for it');
  });
});

test('while a new secret is introduced, nodes with the old one and with both understand each other', async () => {
  const other = 'a-secret-that-comes-after-the-other-one';
  const next = new Process('next', transportKeys([other, TEST_SECRET]));
  const before = new Process('before', transportKeys([TEST_SECRET, other]));
  await next.say('REQ', 'before', 'new');
  await before.say('REQ', 'next', 'old');
  expect(before.taken.at(-1)).toBe('next REQ new');
  expect(next.taken.at(-1)).toBe('before REQ old');
});
