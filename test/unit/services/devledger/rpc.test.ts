import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Address,
  address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase58Decoder,
  getBase64EncodedWireTransaction,
  type IInstruction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/web3.js';
import { getTransferSolInstruction } from '@solana-program/system';
import fc from 'fast-check';
import { type DevLedger, startDevLedger } from '../../../../services/devledger/process.ts';
import { METHODS } from '../../../../services/devledger/rpc-methods.ts';
import { propertyRuns } from '../../../support/effort.ts';
import { rawRequest } from '../../../support/raw-request.ts';
import { seed } from '../../../support/seed.ts';
import { SILENT } from '../anchoring/fixture.ts';

const SOL = 1_000_000_000;
/** An origin whose pages the operator lets read the ledger. */
const PAGE = 'https://explorer.example.com';
const JSON_TYPE = { 'content-type': 'application/json' };
const PROGRAM_DATA = address('DoU57AYuPFu2QU514RktNPG22QhApEjnKxnBcu4BHDTY');
const TOKEN_2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');

interface Answer {
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: { err: unknown } };
}

describe('JSON-RPC of the embedded ledger', () => {
  let folder: string;
  let ledger: DevLedger;
  let pid: number;
  let payer: KeyPairSigner;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'provec-devledger-rpc-'));
    ledger = await startDevLedger({ dataDir: folder, log: SILENT, readers: [PAGE, '*'] });
    pid = ledger.pid;
    payer = await generateKeyPairSigner();
    await ask('requestAirdrop', [payer.address, 100 * SOL]);
  });
  afterAll(async () => {
    await ledger.stop();
    rmSync(folder, { recursive: true });
  });

  const post = (body: string | Uint8Array<ArrayBuffer>) =>
    fetch(ledger.url, { method: 'POST', headers: JSON_TYPE, body });
  const answerOf = async (body: unknown) => (await (await post(JSON.stringify(body))).json()) as Answer;
  const ask = (method: string, params?: unknown) => answerOf({ jsonrpc: '2.0', id: 1, method, params });
  const value = async <T>(method: string, params?: unknown) =>
    ((await ask(method, params)).result as { value: T }).value;

  async function sign(instructions: IInstruction[], blockhash?: string): Promise<string> {
    const lifetime = blockhash ?? (await value<{ blockhash: string }>('getLatestBlockhash')).blockhash;
    const message = pipe(
      createTransactionMessage({ version: 'legacy' }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) =>
        setTransactionMessageLifetimeUsingBlockhash(
          { blockhash: lifetime as never, lastValidBlockHeight: 2n ** 60n },
          paid,
        ),
      (timed) => appendTransactionMessageInstructions(instructions, timed),
    );
    return getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message));
  }
  const transfer = (destination: Address, amount: number) =>
    getTransferSolInstruction({ source: payer, destination, amount: lamports(BigInt(amount)) });
  const send = (wire: string, options = {}) => ask('sendTransaction', [wire, { encoding: 'base64', ...options }]);

  test('a transaction is executed once, and refused a second time', async () => {
    const to = (await generateKeyPairSigner()).address;
    const wire = await sign([transfer(to, SOL)]);
    const { result: signature } = await send(wire);
    expect(signature).toEqual(expect.any(String));
    expect((await send(wire)).error).toMatchObject({ code: -32002, data: { err: 'AlreadyProcessed' } });
    expect(await value('getBalance', [to])).toBe(SOL);
    expect(await value('getSignatureStatuses', [[signature, '1'.repeat(64)]])).toEqual([
      { slot: expect.any(Number), confirmations: null, err: null, confirmationStatus: 'finalized' },
      null,
    ]);
  });

  test('a failing transaction is refused with its error, and costs nothing', async () => {
    const to = (await generateKeyPairSigner()).address;
    const wire = await sign([transfer(to, 10_000 * SOL)]);
    const before = await value<number>('getBalance', [payer.address]);
    const refused = await send(wire);
    expect(refused.error).toMatchObject({ code: -32002, data: { err: { InstructionError: [0, { Custom: 1 }] } } });
    expect(await value('getBalance', [payer.address])).toBe(before);
  });

  test('blockhashes live for 150 blocks', async () => {
    const to = (await generateKeyPairSigner()).address;
    const { blockhash, lastValidBlockHeight } = await value<{ blockhash: string; lastValidBlockHeight: number }>(
      'getLatestBlockhash',
    );
    const unknown = getBase58Decoder().decode(new Uint8Array(32).fill(7));
    const never = await send(await sign([transfer(to, SOL)], unknown));
    expect(never.error).toMatchObject({ code: -32002, data: { err: 'BlockhashNotFound' } });
    while (((await ask('getBlockHeight')).result as number) < lastValidBlockHeight) {
      await ask('requestAirdrop', [payer.address, 1]);
    }
    expect(await value('isBlockhashValid', [blockhash])).toBe(false);
    const late = await send(await sign([transfer(to, SOL)], blockhash));
    expect(late.error).toMatchObject({ code: -32002, data: { err: 'BlockhashNotFound' } });
  });

  test('heights grow for clients that wait', async () => {
    const first = (await ask('getBlockHeight')).result as number;
    let last = first;
    while (last < first + 2) last = (await ask('getBlockHeight')).result as number;
    expect(await value('getLatestBlockhash')).toMatchObject({ lastValidBlockHeight: expect.any(Number) });
  });

  test('refuses invalid signatures, and trailing or non-canonical bytes', async () => {
    const to = (await generateKeyPairSigner()).address;
    const wire = Buffer.from(await sign([transfer(to, SOL)]), 'base64');
    const forged = Buffer.from(wire);
    forged[10] ^= 1;
    expect((await send(forged.toString('base64'))).error!.code).toBe(-32003);
    const unsigned = Buffer.from(wire).fill(0, 1, 65);
    expect((await send(unsigned.toString('base64'))).error!.code).toBe(-32602);
    // LiteSVM misreads a message of version 1 and ends the process.
    const versioned = Buffer.concat([wire.subarray(0, 65), Buffer.of(0x81), wire.subarray(65), Buffer.of(0)]);
    expect((await send(versioned.toString('base64'))).error!.code).toBe(-32602);
    expect((await send(Buffer.concat([wire, Buffer.of(0)]).toString('base64'))).error!.code).toBe(-32602);
    // One signature, with its count in two bytes.
    const aliased = Buffer.concat([Buffer.of(0x81, 0x00), wire.subarray(1)]);
    expect((await send(aliased.toString('base64'))).error!.code).toBe(-32602);
    expect((await send(Buffer.alloc(1233).toString('base64'))).error!.message).toMatch(/1232/);
    expect((await send(wire.toString('base64'))).result).toEqual(expect.any(String));
  });

  test('errors, ids and other methods follow JSON-RPC', async () => {
    expect(await answerOf({ jsonrpc: '2.0', id: 'x', method: 'nope' })).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      error: { code: -32601, message: 'Method not found' },
    });
    expect(((await (await post('{')).json()) as Answer).error!.code).toBe(-32700);
    expect((await answerOf([])).error!.code).toBe(-32600);
    expect((await ask('getBalance', ['x'])).error!.code).toBe(-32602);
    expect((await ask('requestAirdrop', [TOKEN_2022, 1])).error!.message).toMatch(/no wallet/);
    expect((await ask('getBlockHeight', [{ minContextSlot: Number.MAX_SAFE_INTEGER }])).error!.code).toBe(-32016);
    expect((await post('x'.repeat(1024 * 1024 + 1))).status).toBe(413);
    expect((await fetch(ledger.url)).status).toBe(405);
  });

  test('a batch is answered in its order, and an empty or overlong one is refused entirely', async () => {
    const call = (id: number, method: string) => ({ jsonrpc: '2.0', id, method });
    expect(await answerOf([call(7, 'getHealth'), call(8, 'nope'), 'x', call(9, 'getHealth')])).toEqual([
      { jsonrpc: '2.0', id: 7, result: 'ok' },
      { jsonrpc: '2.0', id: 8, error: { code: -32601, message: 'Method not found' } },
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid request' } },
      { jsonrpc: '2.0', id: 9, result: 'ok' },
    ]);
    const many = Array.from({ length: 101 }, (_, id) => call(id, 'getHealth'));
    expect((await answerOf(many)).error!.code).toBe(-32600);
    expect(await answerOf(many.slice(1))).toHaveLength(100);
  });

  test('refuses what would show more of large accounts than an answer may hold', async () => {
    // A program's account, which is larger than a megabyte.
    const programData = (await ask('getAccountInfo', [PROGRAM_DATA, { encoding: 'base64' }])).result as {
      value: { space: number };
    };
    expect(programData.value.space).toBeGreaterThan(200 * 1024);
    const params = [Array.from({ length: 100 }, () => PROGRAM_DATA), { encoding: 'base64' }];
    expect((await ask('getMultipleAccounts', params)).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('ask for fewer'),
    });
    const request = { jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params: [PROGRAM_DATA, { encoding: 'base64' }] };
    const answers = (await answerOf(Array.from({ length: 100 }, () => request))) as unknown as Answer[];
    expect(answers).toHaveLength(100);
    expect(answers[0]!.result).toBeDefined();
    expect(answers[99]!.error).toMatchObject({ code: -32600, message: expect.stringContaining('in parts') });
  });

  describe('requests that a web page makes a browser send', () => {
    const airdrop = () =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'requestAirdrop', params: [payer.address, SOL] });
    const height = '{"jsonrpc":"2.0","id":1,"method":"getBlockHeight"}';
    const request = (headers: Record<string, string>, body = height, method = 'POST') =>
      rawRequest(ledger.url, method, '/', headers, body);
    const statusOf = async (headers: Record<string, string>, body?: string) => (await request(headers, body)).status;
    let before: number;
    const balance = () => value<number>('getBalance', [payer.address]);

    beforeEach(async () => {
      before = await balance();
    });
    afterEach(async () => expect(await balance()).toBe(before));

    test('without a preflight are refused: a form, text, or no type', async () => {
      const types = ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded'];
      for (const type of [...types, 'text/plain, application/json', 'application/jsonp', ''])
        expect(await statusOf({ 'content-type': type }, airdrop())).toBe(415);
      expect(await statusOf({}, airdrop())).toBe(415);
      for (const type of ['application/json; charset=utf-8', 'Application/JSON'])
        expect(await statusOf({ 'content-type': type })).toBe(200);
    });

    test('to a name that its owner pointed here are refused', async () => {
      const port = new URL(ledger.url).port;
      const names = ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'xlocalhost', '0.0.0.0'];
      for (const host of [...names, `evil.example:${port}`, 'localhost@evil.example', '127.0.0.1:x'])
        for (const body of [airdrop(), height]) expect(await statusOf({ ...JSON_TYPE, host }, body)).toBe(403);
      for (const host of ['localhost', `127.0.0.1:${port}`, 'LocalHost:8080', '[::1]:1'])
        expect(await statusOf({ ...JSON_TYPE, host })).toBe(200);
    });

    test('from an origin that the operator did not name are refused, including reads', async () => {
      const near = ['https://explorer.example.com.evil', 'http://explorer.example.com', `${PAGE}:444`];
      for (const origin of ['https://evil.example', ...near, 'null', ledger.url, '']) {
        for (const body of [airdrop(), height]) {
          const { status, headers } = await request({ ...JSON_TYPE, origin }, body);
          expect([origin, status, headers['access-control-allow-origin']]).toEqual([origin, 403, undefined]);
        }
        const preflight = await request({ origin, 'access-control-request-method': 'POST' }, '', 'OPTIONS');
        expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([403, undefined]);
      }
    });

    test('from a named origin may read, and change nothing', async () => {
      const asks = { 'access-control-request-method': 'POST', 'access-control-request-private-network': 'true' };
      const preflight = await request({ origin: PAGE, ...asks }, '', 'OPTIONS');
      expect(preflight).toMatchObject({
        status: 204,
        headers: {
          'access-control-allow-origin': PAGE,
          'access-control-allow-headers': 'content-type, solana-client',
          'access-control-allow-private-network': 'true',
        },
      });
      const wire = await sign([transfer((await generateKeyPairSigner()).address, SOL)]);
      const params: Record<string, unknown[]> = { requestAirdrop: [payer.address, SOL], sendTransaction: [wire] };
      const refused: unknown[] = [];
      for (const method of METHODS.keys()) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params[String(method)] });
        const { headers, text } = await request({ ...JSON_TYPE, origin: PAGE }, body);
        expect(headers).toMatchObject({ 'access-control-allow-origin': PAGE, vary: 'Origin' });
        if ((JSON.parse(text) as Answer).error?.code === -32600) refused.push(method);
      }
      expect(refused).toEqual(['requestAirdrop', 'sendTransaction']);
      const { text } = await request({ ...JSON_TYPE, origin: PAGE }, `[${airdrop()}]`);
      expect(JSON.parse(text)).toMatchObject([{ error: { code: -32600 } }]);
      expect(await statusOf({ 'content-type': 'text/plain', origin: PAGE })).toBe(415);
    });
  });

  test('no request ends the process', async () => {
    const wire = Buffer.from(await sign([transfer(payer.address, 1)]), 'base64');
    const programs = [address('1'.repeat(32)), TOKEN_2022, address('ComputeBudget111111111111111111111111111111')];
    const anyParam = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(payer.address, TOKEN_2022, wire.toString('base64'), -1, 1.5, 2 ** 60, '1'.repeat(44), '🙂'),
      fc.record({ encoding: fc.constantFrom('base64', 'base58', 7), commitment: fc.constantFrom('confirmed', null) }),
      fc.array(fc.constantFrom(payer.address, TOKEN_2022, 'x'), { maxLength: 3 }),
    );
    const anyCall = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.jsonValue(),
      method: fc.constantFrom(...METHODS.keys()),
      params: fc.oneof(fc.array(anyParam, { maxLength: 3 }), fc.jsonValue()),
    });
    const mutated = fc
      .tuple(fc.array(fc.tuple(fc.nat(wire.length - 1), fc.nat(255)), { maxLength: 6 }), fc.nat(wire.length))
      .map(([changes, length]) => {
        const bytes = Buffer.from(wire);
        for (const [at, byte] of changes) bytes[at] = byte;
        return changes.length % 2 === 0 ? bytes : bytes.subarray(0, length);
      });
    const anyBytes = fc.oneof(mutated, fc.uint8Array({ maxLength: 1300 }).map(Buffer.from));
    // Well-formed and signed, but with meaningless instructions.
    const anyInstruction = fc.record({
      programAddress: fc.constantFrom(...programs),
      accounts: fc.array(
        fc.oneof(
          fc.record({ address: fc.constantFrom(...programs, payer.address), role: fc.constant(0) }),
          fc.record({
            address: fc
              .uint8Array({ minLength: 32, maxLength: 32 })
              .map((bytes) => address(getBase58Decoder().decode(bytes))),
            role: fc.constantFrom(0, 1),
          }),
        ),
        { maxLength: 6 },
      ),
      data: fc.uint8Array({ maxLength: 80 }),
    });
    const alive = async () => {
      expect((await ask('getHealth')).result).toBe('ok');
      expect(ledger.pid).toBe(pid);
    };
    const options = { seed, endOnFailure: true };
    await fc.assert(
      fc.asyncProperty(anyCall, async (one) => {
        expect(await answerOf(one)).toMatchObject({ jsonrpc: '2.0' });
        await alive();
      }),
      { ...options, numRuns: propertyRuns(120) },
    );
    await fc.assert(
      fc.asyncProperty(anyBytes, async (bytes) => {
        await send(bytes.toString('base64'));
        await alive();
      }),
      { ...options, numRuns: propertyRuns(90) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyInstruction, { minLength: 1, maxLength: 3 }), async (instructions) => {
        const signed = await sign(instructions as unknown as IInstruction[]);
        expect(await send(signed)).toMatchObject({ jsonrpc: '2.0' });
        await alive();
      }),
      { ...options, numRuns: propertyRuns(90) },
    );
  });
});
