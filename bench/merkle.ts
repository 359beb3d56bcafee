/** Memory and speed of the Merkle map: `node bench/merkle.ts [records]` (default 1,000,000). */
import { randomFillSync } from 'node:crypto';
import { MerkleMap } from '../lib/merkle/map.ts';

const ROUNDS = 20;
const UPDATES = 1_000;
const SMALL_MAPS = 10_000;
const SMALL_RECORDS = 100;

const records = Number(process.argv[2] ?? 1_000_000);
const round = (value: number): string => value.toFixed(1);
const leaf = Buffer.alloc(32, 1);
const keys = randomFillSync(Buffer.alloc(32 * records));
const keyAt = (index: number): Buffer => keys.subarray(32 * index, 32 * index + 32);

const map = new MerkleMap({ skipBits: 0 });
let slowestInsertMs = 0;
const buildStart = performance.now();
for (let slot = 0; slot < records; slot++) {
  const start = performance.now();
  map.set(keyAt(slot), leaf, slot);
  slowestInsertMs = Math.max(slowestInsertMs, performance.now() - start);
}
console.log(`${records} inserts: ${round(performance.now() - buildStart)} ms, slowest ${round(slowestInsertMs)} ms`);
const rootStart = performance.now();
map.root();
console.log(`first root: ${round(performance.now() - rootStart)} ms`);
console.log(`memory: ${round(map.bytes / records)} B per record`);

const times = Array.from({ length: ROUNDS }, () => {
  const start = performance.now();
  for (let i = 0; i < UPDATES; i++) {
    const slot = Math.floor(Math.random() * records);
    map.set(keyAt(slot), randomFillSync(leaf), slot);
  }
  map.root();
  return performance.now() - start;
}).sort((a, b) => a - b);
console.log(
  `${UPDATES} updates and the root: median ${round(times[ROUNDS / 2]!)} ms, slowest ${round(times.at(-1)!)} ms`,
);

const proofStart = performance.now();
for (let i = 0; i < UPDATES; i++) map.prove(keyAt(i % records));
console.log(`proof: ${round((1_000 * (performance.now() - proofStart)) / UPDATES)} us`);

const rssBefore = process.memoryUsage.rss();
const small = Array.from({ length: SMALL_MAPS }, () => {
  const each = new MerkleMap({ skipBits: 0 });
  for (let slot = 0; slot < SMALL_RECORDS; slot++) each.set(keyAt(Math.floor(Math.random() * records)), leaf, slot);
  each.root();
  return each;
});
const smallRecords = small.reduce((sum, each) => sum + each.size, 0);
const smallBytes = small.reduce((sum, each) => sum + each.bytes, 0);
const rss = process.memoryUsage.rss() - rssBefore;
const [inArrays, ofProcess] = [smallBytes, rss].map((bytes) => round(bytes / smallRecords));
console.log(
  `${SMALL_MAPS} maps of ${SMALL_RECORDS}: ${inArrays} B per record in arrays, ${ofProcess} B of process memory`,
);
