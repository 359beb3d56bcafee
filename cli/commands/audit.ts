import { setTimeout as delay } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import type { Api, Listing } from '../../client/index.ts';
import { AuditChain } from '../audit/audit-chain.ts';
import { readTrail } from '../audit/audit-file.ts';
import { AuditRows } from '../audit/audit-rows.ts';
import { EXIT } from '../exit-code.ts';
import { examples, wholeNumber } from '../option-values.ts';
import { jsonLine } from '../output/json.ts';
import { write, writeError } from '../output/streams.ts';
import { inSession, type Session } from '../session.ts';

const ENTRIES = 40;
const FOLLOW_MS = 2_000;
const OPERATOR_TRAIL = 'operator';

interface AuditOptions {
  operator?: true;
  account?: string;
  limit?: number;
  all?: true;
  follow?: true;
  check?: string;
}

type Trail = (cursor?: string) => Listing<Api.AuditEntries, Api.AuditEntry>;

export const auditCommand = (): Command =>
  new Command('audit')
    .description('show who changed keys, collections and aliases, and check that nobody changed the trail')
    .option('--operator', "the changes made with the operator's token or at a console; needs the admin token")
    .addOption(new Option('--account <id>', "that account's trail; needs the admin token").conflicts('operator'))
    .addOption(
      new Option('--limit <n>', `newest entries to show; ${ENTRIES} by default`)
        .argParser(wholeNumber)
        .conflicts('all'),
    )
    .option('--all', 'show the whole trail')
    .option('--follow', 'wait for new entries')
    .addOption(
      new Option('--check <file>', 'check a trail that was saved with --all --json; contacts no service').conflicts([
        ...['operator', 'account', 'limit', 'all', 'follow'],
      ]),
    )
    .addHelpText(
      'after',
      `
A change has two entries; --json prints an entry per line. Exits with 1 if the trail was changed.
${examples('provec audit', 'provec audit --operator --follow', 'provec audit --all --json > audit.ndjson')}`,
    )
    .action(
      inSession(async (session, options: AuditOptions) => {
        if (options.check !== undefined) return checkFile(session, options.check);
        return show(session, await trailOf(session, options), options);
      }),
    );

async function trailOf(session: Session, { operator, account }: AuditOptions): Promise<Trail> {
  const { request } = session;
  if (operator || account !== undefined) {
    const client = await session.operator();
    const given = account === undefined ? {} : { account };
    return (cursor) => client.listAuditEntries({ ...given, ...(cursor && { cursor }) }, request);
  }
  const client = await session.client();
  return (cursor) => client.listAuditEntries(cursor === undefined ? {} : { cursor }, request);
}

/** Prints the end of a trail, or all of it, and then new entries as they come. */
async function show(session: Session, trail: Trail, options: AuditOptions): Promise<number> {
  const { limit = ENTRIES, all, follow } = options;
  const head = (await trail().page()).head;
  const printer = new Printer(session, options);
  let cursor = all || head === undefined ? 0 : Math.max(0, head.seq - limit);
  for (;;) {
    for await (const page of trail(String(cursor)).pages()) {
      for (const entry of page.entries) {
        await printer.print(entry);
        cursor = entry.seq;
      }
      if (page.nextCursor === undefined) await printer.end(page.head);
    }
    if (printer.isFaulty || !follow) break;
    await delay(FOLLOW_MS, undefined, session.request);
  }
  await printer.finish();
  return printer.isFaulty ? EXIT.negative : EXIT.done;
}

async function checkFile(session: Session, path: string): Promise<number> {
  const printer = new Printer(session, {}, true);
  let count = 0;
  for await (const { trail, entry } of readTrail(path)) {
    count++;
    await printer.print(entry, trail);
  }
  if (count === 0) throw new InputError(`${path} has no entries.`);
  const { last } = printer;
  if (!printer.isFaulty) await session.print({ count, head: last }, () => [`${count} entries, up to ${last?.hash}`]);
  return printer.isFaulty ? EXIT.negative : EXIT.done;
}

/** Prints entries, and what is wrong with them. */
class Printer {
  readonly #session: Session;
  readonly #options: AuditOptions;
  readonly #isQuiet: boolean;
  readonly #rows = new AuditRows();
  #chain: AuditChain | null = null;
  isFaulty = false;

  constructor(session: Session, options: AuditOptions, isQuiet = false) {
    this.#session = session;
    this.#options = options;
    this.#isQuiet = isQuiet;
  }

  get last(): Api.AuditHead | null {
    return this.#chain?.last ?? null;
  }

  /** `trail`: default, the one that the options name or that the entry's key belongs to. */
  async print(entry: Api.AuditEntry, trail = this.#trailOf(entry)): Promise<void> {
    this.#chain ??= new AuditChain(trail);
    await this.#report(this.#chain.faultOf(entry), entry.seq);
    if (this.#isQuiet) return;
    const line = this.#session.isJson ? jsonLine({ trail, ...entry }) : this.#rows.lineOf(entry);
    if (line !== null) await write(this.#session.isJson ? line : `${line}\n`);
  }

  /** Compares the newest entry of the trail with the last one that was printed. */
  async end(head: Api.AuditHead | undefined): Promise<void> {
    await this.#report(this.#chain?.faultOfHead(head) ?? null, this.last?.seq ?? 0);
  }

  async finish(): Promise<void> {
    if (!this.#session.isJson) for (const line of this.#rows.unended()) await write(`${line}\n`);
  }

  async #report(fault: string | null, seq: number): Promise<void> {
    if (fault === null) return;
    this.isFaulty = true;
    await writeError(`entry ${seq}: ${fault}`);
  }

  #trailOf({ actor }: Api.AuditEntry): string {
    const { operator, account } = this.#options;
    return operator ? OPERATOR_TRAIL : (account ?? actor?.accountId ?? '');
  }
}
