import { beforeEach, expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import type { Caller } from '../../../../contracts/actions/call.ts';
import type { Verification } from '../../../../contracts/actions/verification.ts';
import { VerificationNodes } from '../../../../services/verification/verification-nodes.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import { newCollection } from '../../../contract/store-rows.ts';

const NODES = ['own', 'b', 'c'];
const RUNNING: Verification = { id: 'an-id', state: 'running', progress: { scanned: 0, total: 1 } };

/** Nodes that still count as connected but no longer have the service. */
let leaving: Set<string>;
/** Nodes that do not respond. */
let silent: Set<string>;
let asked: string[];
const caller: Caller = {
  async call(action, _params, options) {
    const nodeID = options!.nodeID as string;
    asked.push(nodeID);
    if (leaving.has(nodeID)) throw new Errors.ServiceNotFoundError({ action, nodeID });
    if (silent.has(nodeID)) throw new Errors.RequestTimeoutError({ action, nodeID });
    return RUNNING;
  },
};
const nodes = new VerificationNodes(caller, { id: 'own', instanceId: 'i-own' }, () =>
  ['b', 'c'].map((id) => ({ id, instanceId: `i-${id}` })),
);
const begun = async (collection: CollectionRow): Promise<string[]> => {
  asked = [];
  await nodes.begin(caller, collection);
  return asked;
};

beforeEach(() => {
  leaving = new Set();
  silent = new Set();
  asked = [];
});

test('a verification begins on one node, and on the next if that one is leaving', async () => {
  const chosen = new Set<string>();
  for (let at = 0; at < 50; at++) {
    const collection = newCollection();
    leaving = new Set();
    const [first] = await begun(collection);
    chosen.add(first!);
    if (first === 'own') continue;
    leaving = new Set([first!]);
    const [again, next] = await begun(collection);
    expect([again, next]).toEqual([first, expect.not.stringMatching(`^${first}$`)]);
    leaving = new Set(['b', 'c']);
    expect((await begun(collection)).at(-1)).toBe('own');
  }
  expect([...chosen].sort()).toEqual(NODES.toSorted());
});

test('a node that may have begun it is not skipped', async () => {
  silent = new Set(NODES);
  await expect(nodes.begin(caller, newCollection())).rejects.toThrow(Errors.RequestTimeoutError);
  expect(asked).toHaveLength(1);
});

test("a leaving node's verifications are gone; a silent node's are not", async () => {
  const id = nodes.newId();
  expect(await nodes.find('c1', id)).toEqual(RUNNING);
  leaving = new Set(NODES);
  expect(await nodes.find('c1', id)).toBeNull();
  expect(await nodes.running('c1')).toBeNull();
  leaving = new Set();
  silent = new Set(NODES);
  await expect(nodes.find('c1', id)).rejects.toThrow(Errors.RequestTimeoutError);
});
