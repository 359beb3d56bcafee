import { Argument, Command } from 'commander';
import { completionScript, SHELLS } from '../completion-script.ts';
import { examples } from '../option-values.ts';
import { write } from '../output/streams.ts';

export const completionCommand = (): Command =>
  new Command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      `${examples('source <(provec completion bash)')}
zsh:  source <(provec completion zsh)
fish: provec completion fish | source
`,
    )
    .action(async (shell: (typeof SHELLS)[number], _: object, command: Command) => {
      await write(completionScript(shell, command.parent!));
    });
