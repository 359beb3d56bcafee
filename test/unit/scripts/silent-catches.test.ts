import { describe, expect, it } from '@jest/globals';
import { silentCatches } from '../../../scripts/silent-catches.ts';

describe('silent catches', () => {
  it.each([
    ['work().catch(() => undefined);'],
    ['work().catch(() => {});'],
    ['const it = await work().catch(() => null);'],
    ['work().catch((error) => undefined);'],
    ['work().catch(_ => 0);'],
    ['work().catch(\n  () => [],\n);'],
    ['work().then(done, () => undefined);'],
    ['try {\n} catch {}'],
    ['try {\n} catch (error) {\n}'],
  ])('are found: %j', (source) => {
    const start = '// Why the code before is right.\nbefore();\n';
    expect(silentCatches(start + source)).toHaveLength(1);
  });

  it('are counted by line', () => {
    expect(silentCatches('a();\nb().catch(() => null);\n\nc().catch(() => null);')).toEqual([2, 4]);
  });

  it.each([
    ['// The file may be missing.\nwork().catch(() => undefined);'],
    ['work().catch(() => undefined); // Best effort.'],
    ['// Tried again later.\nconst done = work()\n  .then(next)\n  .catch(() => undefined);'],
    [
      '// Without one, the host name is enough.\nawait Promise.all([\n  a().catch(() => null),\n  b().catch(() => null),',
    ],
    ['try {\n} catch {\n  // Not JSON.\n}'],
  ])('may be explained: %j', (source) => {
    expect(silentCatches(source)).toEqual([]);
  });

  it.each([
    ['work().catch((error) => log.warn({ err: error }));'],
    ['work().catch(() => count++);'],
    ['try {\n} catch {\n  return null;\n}'],
  ])('do something else: %j', (source) => {
    expect(silentCatches(source)).toEqual([]);
  });
});
