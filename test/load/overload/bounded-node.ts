/** A gated service in its own process. Sends its address, and its memory use on request. */
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
// Immediate, because an orderly exit waits for busy native threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.send!({ url: service.url, port: service.port, big: big.secret, small: small.secret });
