/**
 * The minimal work of a search over HTTP in Node: reads and parses a query, compares it with every
 * row in a thread, and sends a response of the usual size. Arguments: rows, dimensions, the
 * response.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';

const [rows, dimensions, text] = process.argv.slice(2);
const answer = Buffer.from(text!);
const headers = { 'content-type': 'application/json', 'content-length': answer.length };

const scan = `
  const { parentPort, workerData: { rows, dimensions } } = require('node:worker_threads');
  const vectors = Float32Array.from({ length: rows * dimensions }, (_, at) => (at % 101) / 101);
  parentPort.on('message', ({ id, vector }) => {
    const scores = new Float64Array(rows);
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let i = 0, at = row * dimensions; i < dimensions; i++) sum += vector[i] * vectors[at + i];
      scores[row] = sum;
    }
    parentPort.postMessage({ id, best: scores.sort().subarray(-10) });
  });`;
const worker = new Worker(scan, { eval: true, workerData: { rows: Number(rows), dimensions: Number(dimensions) } });
const waiting = new Map<number, ServerResponse>();
let asked = 0;
worker.on('message', ({ id, best }: { id: number; best: Float64Array }) => {
  const response = waiting.get(id)!;
  waiting.delete(id);
  response.writeHead(best.length > 0 ? 200 : 500, headers).end(answer);
});

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { vector } = JSON.parse(Buffer.concat(chunks).toString()) as { vector: number[] };
    waiting.set(++asked, response);
    worker.postMessage({ id: asked, vector: Float32Array.from(vector) });
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.stdin.resume().on('end', () => process.exit());
