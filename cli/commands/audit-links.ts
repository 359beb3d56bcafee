import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { examples } from '../option-values.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const COLUMNS = ['id', 'label', 'created', 'expires'];

export const auditLinksCommand = (): Command =>
  new Command('audit-links')
    .description('list, create and revoke links that show the roots of a collection to anyone')
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(showCommand())
    .addCommand(revokeCommand())
    .addHelpText('after', examples('provec audit-links list notes'));

const listCommand = (): Command =>
  new Command('list')
    .description('list the audit links of a collection, newest first, without their tokens')
    .argument('<collection>', 'its name or an alias')
    .addHelpText('after', examples('provec audit-links list notes'))
    .action(
      inSession(async (session, name: string) => {
        const links = await (await session.collection(name)).listAuditLinks(session.request);
        await session.print({ links }, () => tableLines(COLUMNS, links.map(linkRow)));
      }),
    );

const createCommand = (): Command =>
  new Command('create')
    .description('create an audit link and print it; its token is shown only this once')
    .argument('<collection>', 'its name or an alias')
    .option('--label <text>', 'shown to everyone who has the link')
    .option('--expires-at <time>', 'when the link ends, in ISO 8601 with an offset')
    .addHelpText('after', examples('provec audit-links create notes --label "For our auditors"'))
    .action(
      inSession(async (session, name: string, options: Api.CreateAuditLink) => {
        const link = await (await session.collection(name)).createAuditLink(options, session.request);
        await session.print({ link }, () => fieldLines({ ...link }));
      }),
    );

const showCommand = (): Command =>
  new Command('show')
    .description('show what an audit link shows')
    .argument('<link>', 'its token')
    .addHelpText(
      'after',
      examples(
        `link=$(provec audit-links create notes --json | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
        'provec audit-links show "$link"',
      ),
    )
    .action(
      inSession(async (session, token: string) => {
        const audit = await (await session.client()).getAudit(token, {}, session.request);
        const { history, anchor, ledger, ...fields } = audit;
        const anchored = { anchor: anchor.status, address: anchor.ledgerAddress, authority: ledger.authority };
        await session.print(audit, () => [
          ...fieldLines({ ...fields, ...anchored }),
          '',
          ...tableLines(['version', 'vectors', 'anchored', 'transaction'], history.anchors.map(anchorRow)),
        ]);
      }),
    );

const revokeCommand = (): Command =>
  new Command('revoke')
    .description('revoke an audit link')
    .argument('<collection>', 'its name or an alias')
    .argument('<id>', 'id of the link, as provec audit-links list shows it')
    .addHelpText(
      'after',
      examples(
        `id=$(provec audit-links create notes --json | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
        'provec audit-links revoke notes "$id"',
      ),
    )
    .action(
      inSession(async (session, name: string, id: string) => {
        await (await session.collection(name)).revokeAuditLink(id, session.request);
        await session.print({ revoked: true }, () => [`revoked ${id}`]);
      }),
    );

const linkRow = ({ id, label, createdAt, expiresAt }: Api.AuditLink): unknown[] => [id, label, createdAt, expiresAt];
const anchorRow = (row: Api.Anchor): unknown[] => [row.version, row.vectorCount, row.confirmedAt, row.ledgerTx];
