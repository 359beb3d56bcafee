import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type Address, createSolanaRpc, type Signature } from '@solana/web3.js';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { LedgerUnreachableError, type Rpc, RpcPool } from '../../../../../services/anchoring/ledger/rpc-pool.ts';

const OF_SOMEBODY = 'Sysvar1111111111111111111111111111111111111' as Address;
const MUCH = 16 * 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, ' ');

let servers: Server[] = [];
afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers = [];
});

/** URL of an endpoint that responds like this. */
async function endpoint(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const poolOf = (...urls: string[]) =>
  new RpcPool({ embedded: false, urls: () => urls }, () => SYSTEM_CLOCK.monotonicMs());
const height = (pool: RpcPool) => pool.call((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
const result = (value: unknown) => JSON.stringify({ jsonrpc: '2.0', id: '1', result: value });

/**
 * Sends a valid response, padded with whitespace, while the client reads. Resolves with whether all
 * of it was sent.
 */
function sendMuch(response: ServerResponse): Promise<boolean> {
  response.write('{"jsonrpc":"2.0","id":"1",');
  let left = MUCH;
  return new Promise((resolve) => {
    const more = () => {
      while (left > 0) {
        left -= PIECE.length;
        if (!response.write(PIECE)) return void response.once('drain', more);
      }
      response.end('"result":7}');
    };
    response.on('finish', () => resolve(true)).on('close', () => resolve(false));
    more();
  });
}

describe('an answer over the bound', () => {
  test("is not read to its end, and is the endpoint's fault", async () => {
    let sent: Promise<boolean> | null = null;
    const url = await endpoint((_, response) => {
      sent = sendMuch(response);
    });
    const asked = height(poolOf(`${url}/?api-key=secret`));
    await expect(asked).rejects.toThrow(LedgerUnreachableError);
    await expect(asked).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/^The endpoint's answer has/) },
    });
    await expect(asked).rejects.not.toThrow(/secret/);
    expect(await sent).toBe(false);
  });

  test('counts by its unpacked size', async () => {
    const packed = gzipSync(result(7).replace('}', `${' '.repeat(MUCH)}}`));
    expect(packed.length).toBeLessThan(PIECE.length);
    const url = await endpoint((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed));
    await expect(height(poolOf(url))).rejects.toThrow(LedgerUnreachableError);
  });

  test('makes another endpoint answer', async () => {
    const bad = await endpoint((_, response) => void sendMuch(response));
    const good = await endpoint((_, response) => response.end(result(8)));
    expect(await height(poolOf(bad, good))).toBe(8n);
  });
});

test('the statuses of the maximum number of transactions fit the bound', async () => {
  const err = { InstructionError: [3, { BorshIoError: 'x'.repeat(200) }] };
  const status = { slot: 400_000_000, confirmations: null, err, status: { Err: err }, confirmationStatus: 'finalized' };
  const value = Array.from({ length: 256 }, () => status);
  const url = await endpoint((_, response) => response.end(result({ context: { slot: 1 }, value })));
  const answer = await poolOf(url).call((rpc, abortSignal) => rpc.getSignatureStatuses([]).send({ abortSignal }));
  expect(answer.value).toHaveLength(256);
});

test('a redirect is not followed', async () => {
  let asked = 0;
  const elsewhere = await endpoint((_, response) => {
    asked += 1;
    response.end(result(7));
  });
  const url = await endpoint((_, response) => response.writeHead(307, { location: elsewhere }).end());
  await expect(height(poolOf(url))).rejects.toThrow(LedgerUnreachableError);
  expect(asked).toBe(0);
});

test('a closed pool waits for no more of an answer', async () => {
  let left: Promise<unknown> | null = null;
  const begun = Promise.withResolvers<void>();
  const url = await endpoint((_, response) => {
    left = new Promise((resolve) => response.on('close', resolve));
    response.write('{"jsonrpc":', () => begun.resolve());
  });
  const pool = poolOf(url);
  const asked = height(pool);
  const refused = expect(asked).rejects.toThrow(LedgerUnreachableError);
  await begun.promise;
  pool.close();
  await refused;
  await left;
});

test("an error status is the endpoint's fault, whatever its answer says", async () => {
  const url = await endpoint((_, response) => response.writeHead(500).end(result(7)));
  await expect(height(poolOf(url))).rejects.toMatchObject({ cause: { message: expect.stringContaining('500') } });
});

describe('numbers match web3.js', () => {
  const account = { data: ['', 'base64'], executable: false, lamports: 1, owner: OF_SOMEBODY, space: 0 };
  const calls: [string, string, (rpc: Rpc, abortSignal?: AbortSignal) => Promise<unknown>][] = [
    [
      'more than a number holds',
      '{"context":{"slot":9007199254740993},"value":18446744073709551615}',
      (rpc, abortSignal) => rpc.getBalance(OF_SOMEBODY).send({ abortSignal }),
    ],
    [
      'in an account',
      JSON.stringify({ context: { slot: 1 }, value: { ...account, rentEpoch: 1 } }).replace(
        '"rentEpoch":1',
        '"rentEpoch":18446744073709551615',
      ),
      (rpc, abortSignal) => rpc.getAccountInfo(OF_SOMEBODY, { encoding: 'base64' }).send({ abortSignal }),
    ],
    [
      'those that stay numbers, and text that looks like one',
      '{"context":{"slot":1,"apiVersion":"2"},"value":[{"slot":5,"confirmations":3,"err":{"InstructionError":[2,{"Custom":7}]},"confirmationStatus":"12"},null]}',
      (rpc, abortSignal) => rpc.getSignatureStatuses(['a' as Signature]).send({ abortSignal }),
    ],
    [
      'below zero and in parts',
      '[-5, 1.5, -0, 1.0, 2e3]',
      (rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }),
    ],
  ];
  test.each(calls)('%s', async (_, value, ask) => {
    const url = await endpoint((__, response) => response.end(`{"jsonrpc":"2.0","id":"1","result":${value}}`));
    const wanted = await ask(createSolanaRpc(url));
    expect(await poolOf(url).call(ask)).toEqual(wanted);
  });

  test("so do the ledger's own errors", async () => {
    for (const error of [
      { code: -32602, message: 'Invalid params: no' },
      { code: -32002, message: 'failed', data: { err: { InstructionError: [2, { Custom: 7 }] }, logs: [] } },
    ]) {
      const url = await endpoint((_, response) => response.end(JSON.stringify({ jsonrpc: '2.0', id: '1', error })));
      const wanted: unknown = await createSolanaRpc(url)
        .getSlot()
        .send()
        .catch((thrown: unknown) => thrown);
      await expect(poolOf(url).call((rpc, abortSignal) => rpc.getSlot().send({ abortSignal }))).rejects.toEqual(wanted);
    }
  });
});
