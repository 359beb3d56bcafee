import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ASKED_MAX } from '../../../transport/lost-calls.ts';
import type { Packet } from '../../../transport/undelivered.ts';
import { until } from '../../support/until.ts';
import { outcome, type TestNode, TransportCluster, type TransportKind } from './cluster.ts';

/** Larger than the largest response that is kept. */
const LARGE = 20_000;

/** Expectations for calls whose packets are lost between two nodes that see each other. */
export function lostCalls(
  startMeans: () => Promise<TransportKind>,
  endMeans: () => Promise<void> = async () => undefined,
): void {
  let cluster: TransportCluster;
  let caller: TestNode;
  let worker: TestNode;
  /** Selects the packets to lose. */
  let isLost: (packet: Packet) => boolean = () => false;
  /** Lost packets that may still be delivered. */
  let late: (() => Promise<void>)[] = [];
  const onSend = async (packet: Packet, send: () => Promise<void>): Promise<void> => {
    if (isLost(packet)) late.push(send);
    else await send();
  };

  beforeAll(async () => {
    cluster = new TransportCluster(await startMeans());
    worker = await cluster.start('worker', {}, onSend);
    caller = await cluster.start('caller', {}, onSend);
    await cluster.meet();
  });
  beforeEach(() => {
    isLost = () => false;
    late = [];
    worker.runs.length = 0;
  });
  afterAll(async () => {
    await cluster?.stop();
    await endMeans();
  });

  const requestOf = (action: string) => (packet: Packet) =>
    packet.type === 'REQ' && (packet.payload as { action?: string }).action === action;
  const answers = (packet: Packet) => packet.type === 'RES' && packet.target === 'caller';
  /** Loses up to `count` packets that `which` selects. */
  const lose = (count: number, which: (packet: Packet) => boolean): void => {
    let left = count;
    isLost = (packet) => which(packet) && left-- > 0;
  };

  test('a request that never arrived fails with an error that permits another node', async () => {
    lose(1, requestOf('worker.count'));
    const { error } = (await outcome(caller.broker.call('worker.count', { key: 'a' }))) as { error: Error };
    expect(error.name).toBe('ServiceNotAvailableError');
    expect(worker.runs).toEqual([]);
    expect(caller.log.some((line) => line.includes('calls to a node were lost on the way'))).toBe(true);
  });

  test('a request that arrives after it was reported lost does not run', async () => {
    lose(1, requestOf('worker.count'));
    await outcome(caller.broker.call('worker.count', { key: 'late' }));
    expect(late).toHaveLength(1);
    await late[0]!();
    expect(await caller.broker.call('worker.count', { key: 'next' })).toBe('next');
    expect(worker.runs).toEqual(['next']);
  });

  test.each([1, 2])('an answer that is lost (%i times) is sent again, and nothing runs twice', async (times) => {
    // Queries about the call are answered, too.
    let lost = 0;
    let id: unknown;
    const key = `answer-${times}`;
    isLost = (packet) => {
      if (requestOf('worker.count')(packet)) id = packet.payload.id;
      return answers(packet) && packet.payload.id === id && lost++ < times;
    };
    expect(await caller.broker.call('worker.count', { key })).toBe(key);
    expect(lost).toBe(times + 1);
    expect(worker.runs).toEqual([key]);
  });

  test('an error that is lost is sent again', async () => {
    lose(1, (packet) => answers(packet) && (packet.payload as { success?: boolean }).success === false);
    const { error } = (await outcome(caller.broker.call('worker.fail', { how: 'provec' }))) as { error: Error };
    expect(error).toMatchObject({ name: 'ProvecError', code: 'UNAVAILABLE' });
  });

  test('a large lost answer leaves the outcome unknown', async () => {
    lose(1, (packet) => answers(packet) && ArrayBuffer.isView((packet.payload as { data?: unknown }).data));
    const { error } = (await outcome(caller.broker.call('worker.make', { length: LARGE }))) as { error: Error };
    expect(error.name).toBe('RequestRejectedError');
  });

  test('finds all of more calls than one question may ask about', async () => {
    const held = Array.from({ length: ASKED_MAX }, () => caller.broker.call('worker.hold', { length: 1 }));
    lose(1, requestOf('worker.count'));
    const { error } = (await outcome(caller.broker.call('worker.count', { key: 'c' }))) as { error: Error };
    expect(error.name).toBe('ServiceNotAvailableError');
    expect(worker.held).toBe(ASKED_MAX);
    worker.release();
    await Promise.all(held);
  });

  test('waits for a call that runs in a process restarted under the same name', async () => {
    const held = caller.broker.call<Float32Array, object>('worker.hold', { length: 2 });
    await until('it runs', () => worker.held === 1);
    // The caller sent the call before it knew of the new process.
    const { instanceID } = worker.broker;
    worker.broker.instanceID = 'another';
    try {
      let answered = 0;
      isLost = (packet) => {
        if (answers(packet)) answered++;
        return false;
      };
      await until('it was asked for', () => answered >= 2);
      worker.release();
      expect([...(await held)]).toEqual([1, 1]);
    } finally {
      worker.broker.instanceID = instanceID;
    }
  });

  test('waits for a call that still runs', async () => {
    let asked = 0;
    isLost = (packet) => {
      if (requestOf('$calls.statusOf')(packet)) asked++;
      return false;
    };
    const held = caller.broker.call<Float32Array, object>('worker.hold', { length: 2 });
    await until('it was asked for twice', () => asked >= 2);
    expect(worker.held).toBe(1);
    worker.release();
    expect([...(await held)]).toEqual([1, 1]);
  });

  test('repeats lost questions', async () => {
    let lost = 0;
    isLost = (packet) => {
      const isFirst = requestOf('worker.count')(packet) && lost === 0;
      const isQuestion = requestOf('$calls.statusOf')(packet) && lost < 3;
      if (isFirst || isQuestion) lost++;
      return isFirst || isQuestion;
    };
    const { error } = (await outcome(caller.broker.call('worker.count', { key: 'b' }))) as { error: Error };
    expect(error.name).toBe('ServiceNotAvailableError');
    expect(lost).toBe(3);
    expect(worker.runs).toEqual([]);
  });
}
