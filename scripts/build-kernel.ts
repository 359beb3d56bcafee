/**
 * Assembles each kernel's WebAssembly text into a module next to it. With `--check` it only
 * compares, and exits 1 on a difference.
 */
import { readFileSync } from 'node:fs';
import initWabt from 'wabt';
import { writeOrCompare } from './write-or-compare.ts';

const KERNELS = ['services/shards/engine/kernel/similarity', 'lib/records/kernel/float32-scan'];

const wabt = await initWabt();
for (const kernel of KERNELS) {
  const file = kernel.slice(kernel.lastIndexOf('/') + 1);
  const source = new URL(`../${kernel}.wat`, import.meta.url);
  const assembled = wabt.parseWat(`${file}.wat`, readFileSync(source, 'utf8'), { simd: true });
  assembled.validate();
  const base64 = Buffer.from(assembled.toBinary({}).buffer).toString('base64');
  const lines = (base64.match(/.{1,100}/g) ?? []).map((line) => `  '${line}',`);
  const text = `/** Generated from ${file}.wat by \`npm run kernel\`: the module's bytes in base64. */
export const ${file.toUpperCase().replaceAll('-', '_')}_WASM = [
${lines.join('\n')}
].join('');
`;
  writeOrCompare(new URL(`../${kernel}-wasm.ts`, import.meta.url), text, 'npm run kernel');
}
