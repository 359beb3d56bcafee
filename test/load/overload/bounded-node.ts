/**
 * A gated service in a process of its own: says where it is, and what memory it takes when asked.
 */
import { startGatedService } from './gated-service.ts';

const MIB = 1024 * 1024;

const service = await startGatedService({
  queues: { query: { waitingMax: 500, waitingPerAccountMax: 400 }, write: { permits: 16 } },
  bodies: { maxBytes: 16 * MIB, smallReserveBytes: 2 * MIB, smallMaxBytes: 64 * 1024 },
});
const [big, small] = [await service.tenant('enterprise'), await service.tenant('enterprise')];

process.on('message', async (message) => {
  if (message !== 'state') service.gate.open();
  if (message === 'stop') await service.stop();
  globalThis.gc?.();
  process.send!({ rssBytes: process.memoryUsage().rss, begun: service.gate.begun.length });
});
// At once: an orderly exit waits for native threads that may be at work.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.send!({ url: service.url, port: service.port, big: big.secret, small: small.secret });
