import { Command } from 'commander';
import { createInstallation, type Installation } from '../installation.ts';
import { examples } from '../option-values.ts';
import { inSession } from '../session.ts';

const FOLDER = 'provec';

export const initCommand = (): Command =>
  new Command('init')
    .description('create what a first start needs: a data folder, a secret, an admin token, and a settings file')
    .argument('[folder]', 'where to make them', FOLDER)
    .addHelpText(
      'after',
      `
Overwrites nothing: it refuses a folder that has one of these files already.
${examples('provec init', 'provec init service', 'ls service')}`,
    )
    .action(
      inSession(async (session, folder: string) => {
        const installation = await createInstallation(folder);
        await session.print(installation, () => installationLines(installation));
      }),
    );

const installationLines = ({ dataDir, secretFile, adminTokenFile, envFile }: Installation): string[] => [
  `data folder  ${dataDir}`,
  `secret       ${secretFile}   (keep a copy apart from the data: nothing opens the data without it)`,
  `admin token  ${adminTokenFile}`,
  `settings     ${envFile}`,
  '',
  'Only you can read these files. Next:',
  '',
  `  provec start --env-file '${envFile}'`,
  `  provec login --admin < '${adminTokenFile}'`,
];
