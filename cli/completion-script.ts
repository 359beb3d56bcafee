import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** A command, and what may follow it. */
interface Node {
  /** Names after the program's, such as `collections create`; empty for the program. */
  path: string;
  /** Subcommands, or the values of the arguments. */
  commands: { name: string; description: string }[];
  options: { name: string; description: string }[];
}

/** Returns the script for a shell. It names the commands and options of the program. */
export function completionScript(shell: (typeof SHELLS)[number], program: Command): string {
  const nodes = nodesOf(program, '');
  if (shell === 'bash') return bashScript(nodes);
  return shell === 'zsh' ? zshScript(nodes) : fishScript(nodes);
}

function nodesOf(command: Command, path: string): Node[] {
  const help = command.createHelp();
  const values = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((name) => ({ name, description })),
  );
  const children = command.commands.map((child) => ({ name: child.name(), description: child.description() }));
  const options = [...help.visibleOptions(command), ...globalOptions(command)].flatMap(({ long, description }) =>
    long == null ? [] : [{ name: long, description }],
  );
  const nodes = command.commands.flatMap((child) => nodesOf(child, `${path} ${child.name()}`.trim()));
  return [{ path, commands: [...children, ...values], options }, ...nodes];
}

const globalOptions = (command: Command): readonly { long?: string | null; description: string }[] =>
  command.parent === null
    ? []
    : [...command.parent.options.filter(({ long }) => long !== '--version'), ...globalOptions(command.parent)];

const namesIn = (names: readonly { name: string }[]): string => names.map(({ name }) => name).join(' ');

/** Returns a `case` that appends a word to `at` if together they are the path of a command. */
const pathCase = (nodes: readonly Node[]): string =>
  `case "$at $word" in ${nodes
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path.includes(' ') ? '' : ' '}${path}'`)
    .join('|')}) at="\${at:+$at }$word" ;; esac`;

const bashScript = (nodes: readonly Node[]): string => `_provec() {
  local at='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    ${pathCase(nodes)}
  done
  local words='' options='' current="\${COMP_WORDS[COMP_CWORD]}"
  case "$at" in
${nodes
  .map(({ path, commands, options }) => `    '${path}') words='${namesIn(commands)}' options='${namesIn(options)}' ;;`)
  .join('\n')}
  esac
  [[ $current == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _provec provec
`;

const zshScript = (nodes: readonly Node[]): string => `#compdef provec
_provec() {
  local at='' word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${pathCase(nodes)}
  done
  local -a candidates options
  case "$at" in
${nodes
  .map(
    ({ path, commands, options }) =>
      `    '${path}') candidates=(${described(commands)}) options=(${described(options)}) ;;`,
  )
  .join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then candidates=($options); fi
  _describe provec candidates || _files
}
# In a folder of $fpath, zsh calls this file as the function; otherwise a shell sources it.
if [[ $funcstack[1] == _provec ]]; then _provec; else compdef _provec provec; fi
`;

const described = (names: readonly { name: string; description: string }[]): string =>
  names.map(({ name, description }) => quoted(`${name}:${description.replaceAll(':', '\\:')}`)).join(' ');

const fishScript = (nodes: readonly Node[]): string => `function __provec_at
    set -l path ''
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$path $word")
        contains -- $next ${nodes.map(({ path }) => quoted(path)).join(' ')}
        and set path $next
    end
    test "$path" = "$argv[1]"
end
${nodes
  .flatMap(({ path, commands, options }) => [
    ...commands.map(({ name, description }) => `${fishAt(path)} -f -a ${name} -d ${quoted(description)}`),
    ...options.map(({ name, description }) => `${fishAt(path)} -l ${name.slice(2)} -d ${quoted(description)}`),
  ])
  .join('\n')}
`;

const fishAt = (path: string): string => `complete -c provec -n "__provec_at '${path}'"`;

/** Quotes a text for these shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;
