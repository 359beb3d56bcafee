import { expect, test } from '@jest/globals';
import { lineBatches } from '../../../../cli/input/line-batches.ts';

const LINE = `{"id":"${'x'.repeat(70_000)}"}`;

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([6_553, 70_011, 300_001])(
  'batches are whole lines, in order and unchanged, from chunks of %i bytes',
  async (size) => {
    for (const [text, count] of [
      [Array.from({ length: 40 }, (_, at) => `${at}${LINE}`).join('\n'), 40],
      [`${Array.from({ length: 24 }, (_, at) => `${at}${LINE}`).join('\n')}\n`, 24],
      [`${'\n'.repeat(13)}${LINE}\n\n \n`, 16],
      ['', 0],
    ] as const) {
      const parts: Buffer[] = [];
      let line = 1;
      let byte = 0;
      let isEnded = false;
      for await (const batch of lineBatches(chunksOf(text, size), { source: 'file', batchBytes: 1_000_000 })) {
        expect(isEnded).toBe(false);
        expect(batch.firstLine).toBe(line);
        line += batch.lineCount;
        byte += batch.bytes.length;
        expect(batch.endByte).toBe(byte);
        parts.push(Buffer.from(batch.bytes));
        isEnded = batch.isLast;
        if (!isEnded) expect(batch.bytes.at(-1)).toBe(0x0a);
        else if (text.trim() !== '') expect(batch.bytes.toString().trim()).not.toBe('');
      }
      expect(isEnded).toBe(true);
      expect(line).toBe(count + 1);
      expect(Buffer.concat(parts).toString() === text).toBe(true);
    }
  },
);

test('many short lines are several batches, so that progress is seen', async () => {
  const counts: number[] = [];
  for await (const { lineCount } of lineBatches(chunksOf('{}\n'.repeat(25_000), 3_000), {
    source: 'file',
    batchBytes: 1_000_000,
  }))
    counts.push(lineCount);
  expect(counts).toEqual([9_999, 10_000, 5_001]);
});

test('begins where an earlier run ended', async () => {
  for await (const batch of lineBatches(chunksOf('c\nd', 2), {
    source: 'file',
    batchBytes: 100,
    begin: { line: 3, byte: 40 },
  }))
    expect(batch).toMatchObject({ firstLine: 3, lineCount: 2, endByte: 43, isLast: true });
});

test('refuses a line that does not fit into memory', async () => {
  const endless = async () => {
    for await (const _ of lineBatches(chunksOf('x'.repeat(9 * 2 ** 20), 65_536), {
      source: 'big.ndjson',
      batchBytes: 100,
    }));
  };
  await expect(endless()).rejects.toThrow('big.ndjson:1 is longer than 8388608 bytes.');
});
