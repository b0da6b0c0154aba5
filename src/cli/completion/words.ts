/** Finds what is being completed: walks the words that were typed along the definitions of the commands. Pure. */
import type { Argument, Command, Option } from 'commander';

/** A candidate and what it means. */
export interface Candidate {
  value: string;
  about?: string;
}

/** The next word: a name of the command line itself, or the value of an option or argument. */
export interface Expected {
  /** Names of commands and options. */
  words: readonly Candidate[];
  /** The value that is asked for: its choices where it has some, its option (`--agent`) and its name (`id`). */
  value: { choices: readonly string[] | null; option: string | null; name: string } | null;
  /** The beginning that every candidate must have. */
  begin: string;
  /** Text of the word before the candidate, as in `--agent=`. */
  before: string;
  /** `--state-dir`, where it was given. */
  state_dir: string | undefined;
}

interface Place {
  /** From the program to the innermost command. */
  commands: Command[];
  /** Arguments of that command so far. */
  given: number;
  state_dir: string | undefined;
}

export function expectedAt(program: Command, words: readonly string[]): Expected {
  const current = words.at(-1) ?? '';
  const place: Place = { commands: [program], given: 0, state_dir: undefined };
  let open: Option | null = null;
  let rest = false;
  for (const word of words.slice(0, -1)) {
    if (open !== null) {
      if (open.long === '--state-dir') place.state_dir = word;
      open = null;
    } else if (rest || word === '--') rest = true;
    else if (word.startsWith('-')) open = optionOf(place, word);
    else step(place, word);
  }
  const found = { words: [], value: null, begin: current, before: '', state_dir: place.state_dir };
  // Behind `--` the words belong to another program.
  if (rest) return found;
  if (open !== null) return { ...found, value: wantedBy(open) };
  const equals = current.startsWith('--') ? current.indexOf('=') : -1;
  if (equals > 0) {
    const option = optionNamed(place, current.slice(0, equals));
    const parts = { begin: current.slice(equals + 1), before: current.slice(0, equals + 1) };
    return { ...found, ...parts, value: option === undefined ? null : wantedBy(option) };
  }
  if (current.startsWith('-')) return { ...found, words: options(place) };
  const value = argumentOf(place);
  return { ...found, words: place.given === 0 ? subCommands(place) : [], value };
}

const inner = ({ commands }: Place) => commands.at(-1) as Command;

function step(place: Place, word: string): void {
  const child = inner(place).commands.find(
    (command) => command.name() === word || command.aliases().includes(word),
  );
  if (child === undefined || place.given > 0) place.given += 1;
  else place.commands.push(child);
}

const optionNamed = ({ commands }: Place, name: string) =>
  commands
    .flatMap((command) => command.options)
    .findLast((option) => option.long === name || option.short === name);

/** The option that waits for its value in the next word. */
function optionOf(place: Place, word: string): Option | null {
  const option = optionNamed(place, word);
  return option?.required ? option : null;
}

const isHidden = (command: Command) => command.name().startsWith('_');

function subCommands(place: Place): Candidate[] {
  return inner(place)
    .commands.filter((command) => !isHidden(command))
    .map((command) => ({
      value: command.name(),
      about: command.summary(),
    }));
}

function options({ commands }: Place): Candidate[] {
  const shown = commands
    .toReversed()
    .flatMap((command) => command.options)
    .filter(({ long, hidden }) => long && !hidden)
    .map(({ long, description }) => ({ value: long as string, about: description }));
  return [...shown, { value: '--help', about: 'show help' }];
}

function argumentOf(place: Place): Expected['value'] {
  const all = inner(place).registeredArguments;
  const last = all.at(-1);
  const argument = all[place.given] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? null : wantedBy(argument);
}

function wantedBy(place: Option | Argument): NonNullable<Expected['value']> {
  const choices = place.argChoices ?? null;
  if (!('flags' in place)) return { choices, option: null, name: place.name() };
  const [, name = ''] = /[<[]([^>\].]+)/.exec(place.flags) ?? [];
  return { choices, option: place.long ?? null, name };
}
