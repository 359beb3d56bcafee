import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { importEntries } from '../../../../../services/gateway/bodies/import-entries.ts';
import { until } from '../../../../support/until.ts';

const MIB = 1024 * 1024;
const LINE_MAX_BYTES = 2 * MIB;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function* piecesOf(text: string, size: number): AsyncIterable<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Entries as text, and the largest reported amount of held data. */
async function cut(chunks: AsyncIterable<Buffer>, linesMax = 3) {
  const entries: { text: string; lines: string[]; numbers: readonly number[] }[] = [];
  let heldBytes = 0;
  const held = (bytes: number): void => {
    heldBytes = Math.max(heldBytes, bytes);
  };
  for await (const { bytes, lines, numbers } of importEntries(chunks, linesMax, held))
    entries.push({ text: Buffer.from(bytes).toString(), lines: lines.map(String), numbers });
  return { entries, heldBytes };
}

test.each([1, 2, 3, 7, 1_000])('splits text in pieces of %i bytes into its lines', async (size) => {
  const text = '\ufeff{"a":"ü"}\n\n \t\r\n{"b":"🧭"}\r\n3\n4\n\n5';
  expect((await cut(piecesOf(text, size))).entries).toEqual([
    {
      text: '{"lines":[{"a":"ü"},{"b":"🧭"}\r,3]}',
      lines: ['{"a":"ü"}', '{"b":"🧭"}\r', '3'],
      numbers: [1, 4, 5],
    },
    { text: '{"lines":[4,5]}', lines: ['4', '5'], numbers: [6, 8] },
  ]);
});

test('an entry ends when it is large, and its content stays unchanged while the next one is built', async () => {
  const text = Array.from({ length: 7 }, (_, at) => `${at}`.repeat(1_500_000)).join('\n');
  const entries = [];
  for await (const entry of importEntries(piecesOf(text, 60_000), 1_000, () => undefined)) entries.push(entry);
  expect(entries.map(({ numbers }) => numbers)).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  const lines = entries.flatMap((entry) => entry.lines.map(String));
  expect(lines.join('\n') === text).toBe(true);
  const whole = entries.flatMap(({ bytes }) => JSON.stringify(Buffer.from(bytes).toString().slice(10, -2).split(',')));
  expect(whole.join() === entries.map((entry) => JSON.stringify(entry.lines.map(String))).join()).toBe(true);
});

test('a line may be as long as any record, and no longer', async () => {
  const longest = 'x'.repeat(LINE_MAX_BYTES);
  for (const size of [1_000, 65_536]) {
    const { entries, heldBytes } = await cut(piecesOf(`1\n${longest}\n${longest}`, size));
    expect(entries[0]!.lines.map(({ length }) => length)).toEqual([1, LINE_MAX_BYTES, LINE_MAX_BYTES]);
    expect(heldBytes).toBe(2 * (2 * LINE_MAX_BYTES + 1));
    await expect(cut(piecesOf(`1\n${longest}x`, size))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^line 2 must be at most 2097152 bytes long/),
    });
  }
});

const PACKETS = 300;
const PACKET_BYTES = 64 * 1024;
const beginning = (packet: Buffer): Buffer => packet.fill('x').subarray(0, 1);
const mostlyBlank = (packet: Buffer): Buffer => {
  packet.fill(' ').write('\n1\n', PACKET_BYTES / 2);
  return packet;
};

test.each([
  ['a line that arrives byte by byte', beginning],
  ['lines between many blanks', mostlyBlank],
])('%s: keeps nothing of its input', async (_, bytesOf) => {
  const packets: WeakRef<ArrayBuffer>[] = [];
  async function* chunks(): AsyncIterable<Buffer> {
    while (packets.length < PACKETS) {
      // Like a packet from a socket, in its own buffer.
      const packet = new ArrayBuffer(PACKET_BYTES);
      packets.push(new WeakRef(packet));
      yield bytesOf(Buffer.from(packet));
    }
    await until('the packets are let go', () => {
      collectGarbage();
      return packets.filter((packet) => packet.deref() !== undefined).length < PACKETS / 10;
    });
  }
  const { entries, heldBytes } = await cut(chunks(), 1_000);
  expect(entries).toHaveLength(1);
  expect(heldBytes).toBeLessThan(PACKET_BYTES);
});
