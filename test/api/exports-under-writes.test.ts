import { beforeAll, expect, test } from '@jest/globals';
import { verifyExport } from '../../client/index.ts';
import { isThorough } from '../support/effort.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { until } from '../support/until.ts';

const EXPORTS = isThorough ? 50 : 6;
const WRITERS = 4;
const IDS = 3_000;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

/** Lines as they arrive. */
async function* linesOf(name: string): AsyncIterable<string> {
  const response = await fetch(`${service.url}/api/v1/collections/${name}/export`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  expect(response.status).toBe(200);
  const decoder = new TextDecoder();
  let begun = '';
  for await (const chunk of response.body!) {
    const lines = (begun + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    begun = lines.pop()!;
    yield* lines;
  }
  expect(begun).toBe('');
}

test.each(isThorough ? [1, 4, 16] : [1, 16])(
  `${EXPORTS} exports under writes each have the root that they state (%i shards)`,
  async (shards) => {
    const name = `written-${shards}`;
    await service.api('POST', '/collections', { name, dimensions: 16, shards });
    const random = randomFrom(seed + shards);
    const upTo = (end: number) => Math.floor(random() * end);
    /** Roots by version, from the responses to the writes. */
    const roots = new Map<number, string>();
    let newest = 0;
    let isOver = false;
    const write = async (): Promise<void> => {
      for (let round = 0; !isOver; round++) {
        const ids = Array.from({ length: 1 + upTo(40) }, () => `r${upTo(IDS)}`);
        const records = ids.map((id) => ({
          id,
          values: Array.from({ length: 16 }, () => random() + 0.1),
          metadata: { round },
        }));
        const [operation, body] = round % 4 === 3 ? ['delete', { ids }] : ['upsert', { records }];
        const answer = await service.api<{ version: number; merkleRoot: string }>(
          'POST',
          `/collections/${name}/${operation}`,
          body,
        );
        expect(answer.status).toBe(200);
        roots.set(answer.body.version, answer.body.merkleRoot);
        newest = Math.max(newest, answer.body.version);
      }
    };
    const writers = Array.from({ length: WRITERS }, write);
    const verified = [];
    for (let last = 0; verified.length < EXPORTS; last = verified.at(-1)!.version) {
      await until('a write is newer than the last export', () => newest > last);
      verified.push(await verifyExport(linesOf(name)));
    }
    isOver = true;
    await Promise.all(writers);
    expect(new Set(verified.map(({ version }) => version)).size).toBe(EXPORTS);
    // With several shards two states may have the same version, which is the sum of the shards'
    // versions.
    const known = shards === 1 ? verified.filter(({ version }) => roots.has(version)) : [];
    for (const { version, merkleRoot } of known) expect(merkleRoot).toBe(roots.get(version));
  },
  600_000,
);
