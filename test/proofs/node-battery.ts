/** What a node of the ledger may answer: a verifier in Python and the client read it alike. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VerificationError, verifyAccount } from '../../client/index.ts';
import { ledgerAccount } from '../../client/verify/ledger-account.ts';
import { EXAMPLE_COLLECTION, type ExampleAccount, exampleOnLedger } from '../unit/client/format-example.ts';
import type { PythonAnswer } from './python.ts';
import type { Ask } from './verifier-battery.ts';

interface NodeAnswer {
  what: string;
  is: 'held' | 'refused' | 'error';
  status?: number;
  body: string | Buffer;
  /** Bytes that the head promises beyond the body. */
  missing?: number;
}

/** One for the answer, its `result`, and the list itself. */
const nested = (levels: number) => `${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}`;

function answersAbout({ data, owner }: ExampleAccount): NodeAnswer[] {
  const text = Buffer.from(data).toString('base64');
  const account = { lamports: 1, data: [text, 'base64'], owner, executable: false, space: data.length };
  const answer = (value: unknown, more = {}) => ({ jsonrpc: '2.0', id: 1, result: { context: {}, value, ...more } });
  const honest = JSON.stringify(answer(account));
  /** With another member of the result, as text. */
  const beside = (member: string) => honest.replace('"context":{}', `"context":${member}`);
  const unread = (what: string, body: unknown): NodeAnswer => ({ what, is: 'error', body: JSON.stringify(body) });
  const accounts: Record<string, unknown> = {
    'data in text': { ...account, data: text },
    'data in base58': { ...account, data: [text, 'base58'] },
    'data of no encoding': { ...account, data: [text] },
    'data that is not base64': { ...account, data: [`${text.slice(0, -1)}!`, 'base64'] },
    'data that is cut off': { ...account, data: [text.slice(0, -1), 'base64'] },
    'no data': { ...account, data: undefined },
    'an owner that is a number': { ...account, owner: 7 },
    'no owner': { ...account, owner: undefined },
    'a number': 7,
    'a text': 'x',
    'a list': [account],
    no: false,
  };
  return [
    { what: 'the account', is: 'held', body: honest },
    { what: 'with spaces', is: 'held', body: `\r\n\t ${honest} \n` },
    { what: 'with status 201', is: 'held', status: 201, body: honest },
    { what: '64 levels', is: 'held', body: beside(nested(64)) },
    { what: 'brackets in text', is: 'held', body: beside(JSON.stringify(`\\"${'['.repeat(100)}`)) },
    { what: 'the account of another program', is: 'refused', body: JSON.stringify(answer({ ...account, owner: 'x' })) },
    ...[400, 404, 500, 302].map((status): NodeAnswer => {
      return { what: `the account, with status ${status}`, is: 'error', status, body: honest };
    }),
    { what: 'a byte order mark', is: 'error', body: `\ufeff${honest}` },
    { what: 'no UTF-8', is: 'error', body: Buffer.from(beside('"\xff"'), 'latin1') },
    { what: 'NaN', is: 'error', body: beside('NaN') },
    ...[65, 2_000, 100_000].map((levels): NodeAnswer => {
      return { what: `${levels} levels`, is: 'error', body: beside(nested(levels)) };
    }),
    { what: 'an answer that is cut off', is: 'error', body: honest.slice(0, -1), missing: 1 },
    { what: 'an answer whose end is missing', is: 'error', body: honest, missing: 1 },
    { what: 'nothing', is: 'error', body: '' },
    unread('no result', { jsonrpc: '2.0', id: 1 }),
    unread('no result, and an account', { value: account }),
    unread('no result, and no account', { value: null }),
    unread('a result of nothing', { result: null }),
    unread('a list of answers', [answer(account)]),
    ...[false, 0, '', [], {}, { message: 7 }].map((error) =>
      unread(`an error of ${JSON.stringify(error)} beside the account`, { ...answer(account), error }),
    ),
    ...Object.entries(accounts).map(([what, value]) => unread(what, answer(value))),
  ];
}

const classOf = (answer: PythonAnswer) => ('is' in answer ? 'held' : 'refused' in answer ? 'refused' : 'error');

/** The tests of one verifier, that answers as `askPython` says. */
export function nodeBattery(ask: Ask): void {
  let account: ExampleAccount;
  let authority: string;
  const servers: Server[] = [];
  beforeAll(async () => {
    ({ account, authority } = await exampleOnLedger());
  });
  afterAll(() => {
    for (const server of servers) server.close().closeAllConnections();
  });

  async function nodeThat(answers: RequestListener): Promise<string> {
    const server = createServer(answers);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function clientOn(url: string): Promise<NodeAnswer['is']> {
    try {
      const found = await ledgerAccount(url, account.address);
      verifyAccount({ ...found!, address: account.address }, { authority, collectionId: EXAMPLE_COLLECTION });
      return 'held';
    } catch (error) {
      return error instanceof VerificationError ? 'refused' : 'error';
    }
  }

  const requestTo = (rpc: string, seconds?: number) => {
    return { of: 'ledger', rpc, authority, collection: EXAMPLE_COLLECTION, seconds } as const;
  };

  test('both read answers of every kind alike', async () => {
    const answers = answersAbout(account);
    const node = await nodeThat((request, response) => {
      const { status = 200, body, missing = 0 } = answers[Number(request.url!.slice(1))]!;
      const length = Buffer.byteLength(body) + missing;
      response.writeHead(status, { 'content-length': length, location: '/0', connection: 'close' });
      response.write(body, () => (missing > 0 ? response.destroy() : response.end()));
    });
    const urls = answers.map((_, at) => `${node}/${at}`);
    const found = await ask(urls.map((url) => requestTo(url)));
    for (const [at, { what, is }] of answers.entries()) {
      expect([what, classOf(found[at]!), found[at]]).toEqual([what, is, expect.anything()]);
      expect([what, await clientOn(urls[at]!)]).toEqual([what, is]);
    }
  });

  test('an answer that arrives byte by byte, without an end, is abandoned', async () => {
    const node = await nodeThat(({ url, socket }) => {
      if (url === '/body') socket.write('HTTP/1.1 200 OK\r\n\r\n');
      else socket.write('HTTP/1.1 200 OK\r\nx: ');
      const timer = setInterval(() => socket.write(' '), 50);
      socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
    });
    const found = await ask(['/head', '/body'].map((path) => requestTo(`${node}${path}`, 0.5)));
    expect(found).toEqual([0, 1].map(() => ({ error: expect.stringMatching(/did not answer within/) })));
  });
}
