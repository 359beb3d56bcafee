import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { printable } from '../../client/cli/printable.ts';
import { operatorOf } from '../client.ts';
import { examine, type Subject } from '../doctor/examination.ts';
import type { Finding } from '../doctor/finding.ts';
import { ServiceSettings } from '../doctor/service-settings.ts';
import { EXIT } from '../exit-code.ts';
import { examples } from '../option-values.ts';
import { green, red, yellow } from '../output/table.ts';
import { readProfile } from '../profile.ts';
import { inSession, type Session } from '../session.ts';
import { ADMIN_TOKEN, connectionOf, profileNameOf, urlOf } from '../settings.ts';
import { ownVersion } from '../version.ts';

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description('check this machine and the service as an operator would, and say what to do')
    .option('--env-file <file>', "file with the service's settings, as provec init writes it")
    .addHelpText(
      'after',
      `
Checks only what this machine can see. Exits with 1 if there is a problem.
${examples('provec doctor', 'provec doctor --json')}`,
    )
    .action(
      inSession(async (session, { envFile }: { envFile?: string }) => {
        const settings = await ServiceSettings.read(envFile);
        const findings = await examine(await subjectOf(session, settings, envFile !== undefined));
        const count = (status: Finding['status']) => findings.filter((each) => each.status === status).length;
        const counts = { problems: count('problem'), warnings: count('warning'), notChecked: count('unknown') };
        await session.print({ ...counts, findings }, () => [
          ...findings.map(findingLine),
          '',
          `${counted(counts.problems, 'problem')}, ${counted(counts.warnings, 'warning')}, ${counts.notChecked} not checked`,
        ]);
        return counts.problems > 0 ? EXIT.negative : EXIT.done;
      }),
    );

/** Finds what to examine. Without an admin token, the checks that need one are skipped. */
async function subjectOf(session: Session, settings: ServiceSettings, isFileGiven: boolean): Promise<Subject> {
  const { options, request } = session;
  // The token from the file must not be sent to the service of a profile.
  const profile = isFileGiven ? { url: settings.ownUrl() } : await readProfile(profileNameOf(options));
  const url = urlOf(options, profile);
  if (!URL.canParse(url)) throw new InputError('--url must be the address of a Provec, such as http://127.0.0.1:8080.');
  const ofService = await settings.secret('PROVEC_ADMIN_TOKEN');
  // Without a token, or with one for another service, the findings say what was not checked.
  const given = ofService ?? (await connectionOf(options, ADMIN_TOKEN).catch(() => null))?.secret;
  const access = given === undefined ? null : { operator: operatorOf({ url, secret: given }), token: given };
  return { url, settings, version: ownVersion(), access, signal: request.signal };
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const COLOURS = { ok: green, warning: yellow, problem: red, unknown: (text: string) => text };
const WORDS = { ok: 'ok', warning: 'warning', problem: 'PROBLEM', unknown: 'not checked' };
const WORD_CHARS = 11;
const CHECK_CHARS = 14;

const findingLine = ({ status, check, message }: Finding): string =>
  `${COLOURS[status](WORDS[status].padEnd(WORD_CHARS))}  ${check.padEnd(CHECK_CHARS)}  ${printable(message)}`;
