/** Whether a command meets a rule: program, sub-command, options and arguments. Pure. */
import { globPattern } from '../../lib/glob.ts';
import { own } from '../../lib/own.ts';
import type { ShellCommand } from '../../lib/shell-inner.ts';
import type { CommandMatch } from './rule.ts';

/** Options with a value, before the name of a sub-command. */
const VALUE_OPTIONS: Readonly<Record<string, RegExp>> = {
  git: /^(?:-C|-c|--git-dir|--work-tree|--namespace|--exec-path)$/,
  docker: /^(?:-H|-c|-l|--host|--context|--config|--log-level|-f|-p)$/,
  kubectl: /^(?:-n|-s|-f|-l|-o|--namespace|--context|--cluster|--kubeconfig|--user|--server)$/,
  helm: /^(?:-n|--namespace|--kube-context|--kubeconfig)$/,
  aws: /^--(?:profile|region|endpoint-url|output|query)$/,
  gcloud: /^--(?:project|account|configuration|zone|region)$/,
  npm: /^(?:--prefix|-w|--workspace|-C)$/,
  pnpm: /^(?:-C|--dir|--filter|-F)$/,
  yarn: /^--cwd$/,
  gh: /^(?:-R|--repo)$/,
  systemctl: /^(?:-H|-M|-t|-p)$/,
};

const globOf = (glob: string) => new RegExp(globPattern(glob, '[\\s\\S]'), 'i');

/** Operands without the values of known options, and everything that may be an option. */
export function operandsOf({ program, words }: ShellCommand): string[] {
  const takes = own(VALUE_OPTIONS, program);
  const operands: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const text = words[at]?.text ?? '';
    if (text === '--') return [...operands, ...words.slice(at + 1).map((word) => word.text)];
    if (/^-[^\s]/.test(text)) at += takes?.test(text) === true ? 1 : 0;
    else operands.push(text);
  }
  return operands;
}

type Test = (command: ShellCommand) => boolean;

/** `-f` is also in `-rf`; long options may have a value after `=`. */
function optionTest(option: string): Test {
  const letter = /^-([A-Za-z])$/.exec(option)?.[1];
  const long = option.length > 2 ? globOf(option) : null;
  const isOption = (text: string) =>
    text === option ||
    (letter !== undefined && /^-[A-Za-z]{2,}$/.test(text) && text.includes(letter)) ||
    (long?.test(text.replace(/=[\s\S]*$/, '')) ?? false);
  return ({ words }) => {
    for (const { text } of words) {
      if (isOption(text)) return true;
      if (text === '--') return false;
    }
    return false;
  };
}

/** Whether a command meets any of the conditions. */
export function commandsTest(matches: readonly CommandMatch[]): Test {
  const by_name = Map.groupBy(matches, ({ command }) => command.split(' ', 1)[0] as string);
  const isGlob = (name: string) => /[*?[{]/.test(name);
  // Most commands have a name that no rule is about.
  const named = new Map([...by_name].map(([name, some]) => [name, some.map(commandTest)]));
  const globs = [...named].filter(([name]) => isGlob(name)).flatMap(([, tests]) => tests);
  return (given) =>
    (named.get(given.program)?.some((test) => test(given)) ?? false) ||
    globs.some((test) => test(given));
}

function commandTest({ command, options, unless = [], args }: CommandMatch): Test {
  const [program, ...names] = command.split(' ').map(globOf);
  const wanted = options?.map(optionTest);
  const unwanted = unless.map(optionTest);
  const patterns = args?.map(globOf);
  return (given) => {
    if (!program?.test(given.program)) return false;
    if (wanted !== undefined && !wanted.some((test) => test(given))) return false;
    if (unwanted.some((test) => test(given))) return false;
    if (names.length === 0 && patterns === undefined) return true;
    const operands = operandsOf(given);
    const namedFrom = (from: number) =>
      names.every((name, at) => name.test(operands[from + at] ?? ''));
    // An unknown option with a value hides one operand.
    const named = namedFrom(0) || (/^-/.test(given.words[0]?.text ?? '') && namedFrom(1));
    return named && (patterns?.some((arg) => operands.some((text) => arg.test(text))) ?? true);
  };
}
