/**
 * An attacker changes the store's files: while the service runs, after a kill, and after a stop.
 * From then on verify must report a mismatch, through further writes and restarts, and name the
 * record if anything still shows what was written. A running service still has the written data in
 * memory, and anchors nothing else. Once a shard was reopened nothing more is anchored.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import type { Api } from '../../support/api-client.ts';
import { float32Bytes } from '../../support/intruder.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { TamperedRows } from '../../support/tampered-rows.ts';
import { until } from '../../support/until.ts';

type Moment = 'while it runs' | 'after a kill' | 'after a stop';
const MOMENTS: Moment[] = ['while it runs', 'after a kill', 'after a stop'];
/**
 * After a stop the log of such a small shard is empty, and the only copy of a leaf is the one next
 * to its record.
 */
const WITH_LOG: Moment[] = ['while it runs', 'after a kill'];

const VICTIM = { id: 'victim', values: [0.25, 0.5, -0.75], metadata: { owed: 'ten thousand' } };
const CHANGED = { ...VICTIM, values: [0.25, 0.5, 0.75] };
const FIRST = { id: 'first', values: [1, 0, 0], metadata: {} };
const LAST = { id: 'last', values: [0, 1, 0], metadata: {} };
const MEANWHILE = { id: 'meanwhile', values: [0, 0, 1], metadata: {} };
const leafOf = ({ id, values, metadata }: typeof FIRST) => referenceLeaf(id, values, metadata);
const CHANGED_ROOT = Buffer.from(referenceRoot([FIRST, CHANGED, LAST].map(leafOf)), 'hex');
const metadataBytes = (metadata: object) => Buffer.from(JSON.stringify(metadata));

interface Attack {
  name: string;
  /** Makes the change; returns the number of changed rows. */
  change(rows: TamperedRows): number;
  /** Moments at which the change is possible; default all. */
  at?: Moment[];
  /**
   * The record that verify names, and how it describes it, at the moments of `namedAt`, or at all.
   */
  named?: [id: string, what: RegExp];
  namedAt?: Moment[];
}

const OF_VICTIM = 'WHERE shard = :shard AND id = CAST(:id AS BLOB)';
const id = VICTIM.id;
const vector = float32Bytes(CHANGED.values);
const leaf = leafOf(CHANGED).leaf;

const ATTACKS: Attack[] = [
  {
    name: 'one float of one vector',
    change: (rows) => rows.records(`UPDATE records SET vector = :vector ${OF_VICTIM}`, { id, vector }),
    named: [id, /values/],
  },
  {
    name: 'metadata',
    change: (rows) =>
      rows.records(`UPDATE records SET metadata = :metadata ${OF_VICTIM}`, {
        id,
        metadata: metadataBytes({ owed: 'nothing' }),
      }),
    named: [id, /metadata/],
  },
  {
    name: 'a vector with its leaf',
    change: (rows) =>
      rows.records(`UPDATE records SET vector = :vector, leaf = :leaf ${OF_VICTIM}`, { id, vector, leaf }),
    named: [id, /values/],
    namedAt: WITH_LOG,
  },
  {
    name: 'a vector with its leaf and every root that was recorded',
    change: (rows) =>
      rows.records(`UPDATE records SET vector = :vector, leaf = :leaf ${OF_VICTIM}`, { id, vector, leaf }) +
      rows.log('UPDATE shards SET hash = :root WHERE number = :shard', { root: CHANGED_ROOT }),
    named: [id, /values/],
    namedAt: WITH_LOG,
  },
  {
    name: 'a record removed',
    change: (rows) => rows.records(`DELETE FROM records ${OF_VICTIM}`, { id }),
    named: [id, /missing/],
    namedAt: WITH_LOG,
  },
  {
    name: 'a record added',
    change: (rows) => {
      const added = leafOf({ id: 'added', values: CHANGED.values, metadata: {} }).leaf;
      const sql = `INSERT INTO records (place, shard, id, seq, vector, metadata, leaf)
        SELECT place + 1000000, shard, CAST('added' AS BLOB), seq, :vector, CAST('{}' AS BLOB), :leaf FROM records ${OF_VICTIM}`;
      return rows.records(sql, { id, vector, leaf: added });
    },
    named: ['added', /unexpected/],
    namedAt: WITH_LOG,
  },
  {
    name: 'a row added that is no record',
    change: (rows) => {
      const sql = `INSERT INTO records (place, shard, id, seq, vector, metadata, leaf)
        SELECT place + 1000000, shard, CAST('added' AS BLOB), seq, X'0102', metadata, leaf
        FROM records ${OF_VICTIM}`;
      return rows.records(sql, { id });
    },
    named: ['added', /unreadable/],
  },
  {
    name: 'a vector cut short',
    change: (rows) => rows.records(`UPDATE records SET vector = substr(vector, 1, 4) ${OF_VICTIM}`, { id }),
    named: [id, /^(values|unreadable)$/],
  },
  {
    name: 'metadata cut short',
    change: (rows) => rows.records(`UPDATE records SET metadata = substr(metadata, 1, 4) ${OF_VICTIM}`, { id }),
    named: [id, /^(metadata|unreadable)$/],
  },
  {
    name: 'a record under the number of another shard',
    change: (rows) => rows.records(`UPDATE records SET shard = shard + 1000 ${OF_VICTIM}`, { id }),
    named: [id, /unreadable/],
  },
  {
    name: 'an old log entry edited',
    at: WITH_LOG,
    change: (rows) => {
      const [{ body }] = rows.inLog<{ body: Uint8Array }>('SELECT body FROM entries WHERE shard = :shard AND seq = 2');
      const edited = Buffer.from(body);
      const at = edited.indexOf(float32Bytes(VICTIM.values));
      vector.copy(edited, at);
      return rows.log('UPDATE entries SET body = :edited WHERE shard = :shard AND seq = 2', { edited });
    },
    named: [id, /log/],
  },
  {
    name: 'an old log entry taken out',
    at: WITH_LOG,
    change: (rows) => rows.log('DELETE FROM entries WHERE shard = :shard AND seq = 2'),
  },
];
const attacksAt = (moment: Moment) => ATTACKS.filter(({ at = MOMENTS }) => at.includes(moment));

describe.each(MOMENTS)('changed %s', (moment) => {
  /** The service that is killed; only after a kill. */
  let killed: ServiceProcess | null = null;
  let service: TestService;
  let folder: string;
  let api: Api;
  const attacks = attacksAt(moment);
  const names = new Map(attacks.map((attack, at) => [attack, `c${at}`]));
  const ids = new Map<Attack, string>();
  const anchored = new Map<Attack, number | null>();

  const path = (attack: Attack, rest: string) => `/collections/${names.get(attack)}/${rest}`;
  const verify = async (attack: Attack) => (await api<VerifyResult>('GET', path(attack, 'verify'))).body;
  const upsert = async (attack: Attack, record: object) => {
    const answer = await api<{ anchor: { status: string } }>('POST', path(attack, 'upsert'), {
      records: [record],
    });
    expect(answer.status).toBe(200);
    return answer.body.anchor.status;
  };
  const rowsOf = (attack: Attack) => new TamperedRows(folder, ids.get(attack)!);

  async function fill(attack: Attack): Promise<void> {
    const made = { name: names.get(attack), dimensions: 3 };
    const { body } = await api<{ collection: { id: string } }>('POST', '/collections', made);
    ids.set(attack, body.collection.id);
    for (const record of [FIRST, VICTIM, LAST]) expect(await upsert(attack, record)).toBe('confirmed');
    await until('its records are materialised', async () => {
      const { mark, newest } = rowsOf(attack).seqs();
      return mark === newest;
    });
    const before = await verify(attack);
    expect(before).toMatchObject({ state: 'match', vectorCount: 3 });
    anchored.set(attack, before.anchoredVersion);
  }

  async function expectMismatch(attack: Attack, isNamed: boolean): Promise<void> {
    const found = await verify(attack);
    expect(found).toMatchObject({ state: 'mismatch', verified: false, reason: expect.stringMatching(/^[A-Z].*\.$/) });
    expect(found.anchoredVersion).toBe(anchored.get(attack));
    if (!attack.named || !isNamed) return;
    const [named, what] = attack.named;
    expect(found.differences).toEqual([{ id: named, what: expect.stringMatching(what) }]);
  }

  beforeAll(async () => {
    const environment = { PROVEC_ANCHOR_WAIT_MS: '30000', PROVEC_LOG_LEVEL: 'silent' };
    if (moment === 'after a kill') killed = await startProcess(environment);
    else service = await startService(environment);
    ({ api, dataDir: folder } = killed ?? service);
    await Promise.all(attacks.map(fill));
    if (moment === 'after a kill') await killed!.kill('SIGKILL');
    if (moment === 'after a stop') await service.provec.stop();
    for (const attack of attacks) expect(attack.change(rowsOf(attack))).toBeGreaterThan(0);
    if (moment === 'after a stop') await service.restart();
    if (moment === 'after a kill') {
      service = await startService({ ...environment, PROVEC_DATA_DIR: folder });
      api = service.api;
    }
  });
  afterAll(async () => {
    await service.stop();
    await killed?.dispose();
  });

  test.each(attacks)(
    '$name: a mismatch that names the record if anything still shows what was written',
    async (attack) => {
      await expectMismatch(attack, attack.namedAt?.includes(moment) ?? true);
    },
  );

  if (moment === 'while it runs') {
    test('until a restart, what was written is anchored from memory, and it stays a mismatch', async () => {
      const root = referenceRoot([FIRST, VICTIM, LAST, MEANWHILE].map(leafOf));
      for (const attack of attacks) {
        expect(await upsert(attack, MEANWHILE)).toBe('confirmed');
        const found = await verify(attack);
        expect(found).toMatchObject({ state: 'mismatch', onChainRoot: root });
        anchored.set(attack, found.anchoredVersion);
      }
    });
  }

  test('each stays one after a write and a restart, and nothing more is anchored', async () => {
    await service.restart();
    await Promise.all(attacks.map((attack) => expectMismatch(attack, false)));
    const waits = attacks.map((attack) => upsert(attack, { id: 'later', values: [0, 0, 1], metadata: {} }));
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['pending']));
    await service.restart();
    await Promise.all(attacks.map((attack) => expectMismatch(attack, false)));
  });
});
