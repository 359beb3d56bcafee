import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { pacedBody } from '../../../../../services/gateway/bodies/sending-pace.ts';
import { ClientGoneError } from '../../../../../services/gateway/client-gone.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** A request whose body the test sends, and the bytes read from it. */
async function open(
  windowMs: number,
  bytesPerSecond = 100_000,
): Promise<{ socket: Socket; body: AsyncIterable<Buffer>; req: IncomingMessage }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  endings.push(
    () => server.close(),
    () => socket.destroy(),
  );
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n');
  const [req] = (await once(server, 'request')) as [IncomingMessage];
  return { socket, req, body: pacedBody(req, { bytesPerSecond, windowMs }) };
}

test('a body that arrives fast enough is read to its end', async () => {
  const { socket, body } = await open(60_000);
  socket.write('x'.repeat(50_000));
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes === 50_000) socket.write('x'.repeat(50_000));
  }
  expect(bytes).toBe(100_000);
});

test('a client that sends nothing, or too little, is not waited for, and its connection stays', async () => {
  const { socket, body, req } = await open(100);
  socket.write('x'.repeat(10));
  const read = async () => {
    for await (const _ of body);
  };
  await expect(read()).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect(req.destroyed).toBe(false);
});

test.each([
  ['as it was not wanted', 60_000],
  ['as it came too slowly', 50],
])('what arrives after reading was abandoned, %s, can be discarded', async (_, windowMs) => {
  const { socket, body, req } = await open(windowMs);
  socket.write('x'.repeat(10));
  await (async () => {
    for await (const _ of body) if (windowMs > 1_000) return;
  })().catch(() => undefined);
  req.resume();
  socket.write('x'.repeat(100_000 - 10));
  await once(req, 'end');
  expect(req.complete).toBe(true);
});

test('nothing is lost if the window ends while the next chunk is in flight', async () => {
  const { socket, body } = await open(10, 0);
  socket.write('x'.repeat(60_000));
  let bytes = 0;
  const late = setTimeout(() => socket.write('x'.repeat(40_000)), 70);
  for await (const chunk of body) bytes += chunk.byteLength;
  clearTimeout(late);
  expect(bytes).toBe(100_000);
});

test('a client that has left', async () => {
  const { socket, body } = await open(60_000);
  socket.write('x');
  const read = async () => {
    for await (const _ of body) socket.destroy();
  };
  await expect(read()).rejects.toBeInstanceOf(ClientGoneError);
});
