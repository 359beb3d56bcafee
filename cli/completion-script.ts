import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** A command with what may follow it. */
interface Node {
  /** Names from the program on, such as `collections create`; empty for the program. */
  path: string;
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
  const commands = command.commands.map((child) => ({ name: child.name(), description: child.description() }));
  const options = [...help.visibleOptions(command), ...globalOptions(command)].flatMap(({ long, description }) =>
    long == null ? [] : [{ name: long, description }],
  );
  const children = command.commands.flatMap((child) => nodesOf(child, `${path} ${child.name()}`.trim()));
  return [{ path, commands, options }, ...children];
}

const globalOptions = (command: Command): readonly { long?: string | null; description: string }[] =>
  command.parent === null
    ? []
    : [...command.parent.options.filter(({ long }) => long !== '--version'), ...globalOptions(command.parent)];

const namesIn = ({ commands, options }: Node): string => [...commands, ...options].map(({ name }) => name).join(' ');

/** Returns a `case` that appends a word to `at`, if the two are the path of a command. */
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
  local words=''
  case "$at" in
${nodes.map((node) => `    '${node.path}') words='${namesIn(node)}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _provec provec
`;

const zshScript = (nodes: readonly Node[]): string => `#compdef provec
_provec() {
  local at='' word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${pathCase(nodes)}
  done
  local -a candidates
  case "$at" in
${nodes
  .map((node) => {
    const described = [...node.commands, ...node.options].map(({ name, description }) =>
      quoted(`${name}:${description.replaceAll(':', '\\:')}`),
    );
    return `    '${node.path}') candidates=(${described.join(' ')}) ;;`;
  })
  .join('\n')}
  esac
  _describe provec candidates || _files
}
compdef _provec provec
`;

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
