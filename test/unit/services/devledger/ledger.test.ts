import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { generateKeyPairSigner } from '@solana/web3.js';
import * as litesvm from 'litesvm';
import { Journal } from '../../../../services/devledger/journal.ts';
import { Ledger } from '../../../../services/devledger/ledger.ts';
import { type DevLedger, startDevLedger } from '../../../../services/devledger/process.ts';
import { until } from '../../../support/until.ts';
import { rpc, SILENT } from '../anchoring/fixture.ts';

const LAMPORTS = 1_000_000_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'provec-devledger-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const anyAddress = async (): Promise<string> => (await generateKeyPairSigner()).address;

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie accepts signals until its parent, here init, has reaped it.
    return process.platform === 'linux' && /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

describe('the process', () => {
  let ledger: DevLedger;
  const start = async () => {
    ledger = await startDevLedger({ dataDir: folder, log: SILENT });
  };
  const ask = <T>(method: string, params: unknown[] = []) => rpc<T>(ledger.url, method, params);
  const balance = async (address: string) => (await ask<{ value: number }>('getBalance', [address])).value;
  afterEach(() => ledger?.stop());

  test('keeps balances, blockhashes, signatures and heights over stops and starts', async () => {
    await start();
    const address = await anyAddress();
    const signature = await ask<string>('requestAirdrop', [address, LAMPORTS]);
    const { value } = await ask<{ value: { blockhash: string } }>('getLatestBlockhash');
    const height = await ask<number>('getBlockHeight');
    await ledger.stop();

    await start();
    expect(await balance(address)).toBe(LAMPORTS);
    expect(await ask<number>('getBlockHeight')).toBeGreaterThanOrEqual(height);
    expect(await ask('isBlockhashValid', [value.blockhash])).toMatchObject({ value: true });
    expect(await ask('getSignatureStatuses', [[signature]])).toMatchObject({ value: [{ err: null }] });
    const again = await ask<string>('requestAirdrop', [address, LAMPORTS]);
    expect(again).not.toBe(signature);
  });

  test('every acknowledged transaction survives SIGKILL at any instant', async () => {
    await start();
    const acknowledged: { address: string; signature: string }[] = [];
    for (let round = 0; round < 3; round++) {
      const { pid } = ledger;
      let killed = false;
      const clients = [1, 2, 3].map(async () => {
        while (!killed) {
          const address = await anyAddress();
          await ask<string>('requestAirdrop', [address, LAMPORTS]).then(
            (signature) => acknowledged.push({ address, signature }),
            () => {},
          );
        }
      });
      const before = acknowledged.length;
      await until('some are acknowledged', () => acknowledged.length > before + 7);
      process.kill(pid, 'SIGKILL');
      killed = true;
      await Promise.all(clients);
      await until('it is back', () => ledger.pid !== pid);
    }
    for (const { address, signature } of acknowledged) {
      expect(await balance(address)).toBe(LAMPORTS);
      expect(await ask('getSignatureStatuses', [[signature]])).toMatchObject({ value: [{ err: null }] });
    }
  });

  test('comes back on the same port, with the same heights or higher', async () => {
    await start();
    const { url, pid } = ledger;
    const height = await ask<number>('getBlockHeight');
    process.kill(pid, 'SIGKILL');
    await until('it is back', () => ledger.pid !== pid);
    expect(ledger.url).toBe(url);
    expect(await ask<number>('getBlockHeight')).toBeGreaterThanOrEqual(height);
  });

  test('a damaged journal is refused in one line and not changed', async () => {
    await start();
    await ask('requestAirdrop', [await anyAddress(), LAMPORTS]);
    await ledger.stop();
    const path = join(folder, 'ledger', 'journal.ndjson');
    const damaged = readFileSync(path, 'utf8').replace('"genesis"', '"genesiz"');
    writeFileSync(path, damaged);
    await expect(start()).rejects.toThrow(/^[^\n]*damaged[^\n]*$/);
    expect(readFileSync(path, 'utf8')).toBe(damaged);
  });

  test('ends when its parent is killed', async () => {
    const program = `
      const { startDevLedger } = await import(${JSON.stringify(new URL('../../../../services/devledger/process.ts', import.meta.url).href)});
      const ledger = await startDevLedger({ dataDir: ${JSON.stringify(folder)}, log: { warn() {}, error() {} } });
      console.log(ledger.pid);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = await new Promise<number>((resolve) => parent.stdout.once('data', (data) => resolve(Number(data))));
    expect(isGone(pid)).toBe(false);
    parent.kill('SIGKILL');
    await until('the ledger has ended', () => isGone(pid));
    await start();
    expect(await ask('getHealth')).toBe('ok');
  });
});

describe('the journal', () => {
  const line = (height: number) => ({ kind: 'blocks', height }) as const;
  const reopen = () => {
    const { journal, lines } = Journal.open(folder);
    journal.close();
    return lines;
  };

  test('drops a truncated line and appends after it', () => {
    const { journal } = Journal.open(folder);
    journal.append(line(1));
    journal.append(line(2));
    journal.close();
    const path = join(folder, 'journal.ndjson');
    const whole = readFileSync(path);
    for (let bytes = whole.length - 1; bytes > whole.length / 2; bytes--) {
      writeFileSync(path, whole.subarray(0, bytes));
      const { journal: torn, lines } = Journal.open(folder);
      expect(lines).toEqual([line(1)]);
      torn.append(line(3));
      torn.close();
      expect(reopen()).toEqual([line(1), line(3)]);
    }
  });

  test('throws on damage before the last line', () => {
    const { journal } = Journal.open(folder);
    for (const height of [1, 2, 3]) journal.append(line(height));
    journal.close();
    const path = join(folder, 'journal.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"height":2', '"height":9'));
    expect(reopen).toThrow(/ is damaged at byte /);
  });

  test('is replaced atomically, and a half-written replacement is never read', () => {
    const { journal } = Journal.open(folder);
    journal.append(line(1));
    journal.replace([line(7)]);
    journal.append(line(8));
    journal.close();
    appendFileSync(join(folder, 'journal.ndjson.new'), 'half');
    expect(reopen()).toEqual([line(7), line(8)]);
  });

  test('replaced by the ledger, it holds the same state in fewer bytes', async () => {
    const { journal } = Journal.open(folder);
    const first = new Ledger(litesvm, journal, [], { replaceAfterBytes: 20_000 });
    const address = await anyAddress();
    const signatures: string[] = [];
    let largest = 0;
    let shrunk = 0;
    for (let count = 0; count < 200; count++) {
      signatures.push(first.airdrop(address, LAMPORTS));
      if (journal.bytes < largest) shrunk += 1;
      largest = Math.max(largest, journal.bytes);
    }
    expect(shrunk).toBeGreaterThan(0);
    const { height } = first.blocks;
    journal.close();
    const opened = Journal.open(folder);
    const second = new Ledger(litesvm, opened.journal, opened.lines, { replaceAfterBytes: 20_000 });
    expect(second.account(address)).toMatchObject({ lamports: String(200 * LAMPORTS) });
    expect(second.blocks.height).toBeGreaterThanOrEqual(height);
    expect(second.blocks.isValid(first.blocks.latestBlockhash)).toBe(true);
    for (const signature of signatures) expect(second.history.get(signature)).toMatchObject({ signature, err: null });
    opened.journal.close();
  });
});
