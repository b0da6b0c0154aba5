/** Graders for the folder of a run: `command` and `file`. */
import { cleanPath, pathInside } from '../../lib/paths.ts';
import type { Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import {
  broken,
  type CommandResult,
  type Evidence,
  type FileFacts,
  fact,
  type Grade,
  type Grader,
  type Options,
} from '../types.ts';
import { commandText, timeOf } from './code-grader.ts';
import { type Matcher, matcherText, Patterns, textHolds } from './matchers.ts';

/** All facts must hold; the reason names the others. */
function gradeOf(evidence: Evidence[], done: string, more = ''): Grade {
  const missed = evidence.filter(({ passed }) => !passed).map(({ text }) => text);
  if (missed.length === 0) return { score: 1, reason: done, evidence };
  return { score: 0, reason: `${missed.join('; ')}${more}`, evidence };
}

const TAIL_CHARS = 200;

/** The end of a stream, which is the most informative part of a test run. */
function tailOf(name: 'stdout' | 'stderr', { [name]: stream }: CommandResult): string {
  const text = stream.trim();
  const cut = text.length > TAIL_CHARS ? '…' : '';
  return text === '' ? '' : `; ${name}: ${JSON.stringify(`${cut}${text.slice(-TAIL_CHARS)}`)}`;
}

const tailsOf = (result: CommandResult) => `${tailOf('stdout', result)}${tailOf('stderr', result)}`;

interface CommandOptions {
  command: readonly string[];
  exit_code?: number | 'any';
  stdout?: Matcher;
  stderr?: Matcher;
  env?: readonly string[];
}

export const command: Grader = async (options, { place, tools }) => {
  const { command, exit_code = 0, stdout, stderr, env = [] } = options as unknown as CommandOptions;
  if (place.folder === null) return broken(place.refusal);
  const result = await tools.run({
    ...{ command, cwd: place.folder, timeout_ms: timeOf(options), input: '', env },
    much_output: 'tail',
  });
  const called = commandText(command);
  if (result.failure !== null) return broken(`${called} ${result.failure}${tailsOf(result)}`);
  const patterns = new Patterns();
  const outputs = Object.entries({ stdout, stderr }) as ['stdout' | 'stderr', Matcher?][];
  const facts = () =>
    outputs.flatMap(([name, wanted]) =>
      wanted === undefined
        ? []
        : [outputFact(name, wanted, textHolds(wanted, result[name], patterns.test))],
    );
  facts();
  const failure = await patterns.answer(tools);
  if (failure !== null) return broken(failure);
  const code = exit_code === 'any' ? [] : [codeFact(result.code, exit_code)];
  const cut = result.dropped > 0 ? ` (${result.dropped} bytes of output were not kept)` : '';
  const grade = gradeOf(
    [...code, ...facts()],
    `exit code ${result.code}`,
    `${tailsOf(result)}${cut}`,
  );
  return { ...grade, reason: `${called}: ${grade.reason}` };
};

const outputFact = (name: string, wanted: Matcher, holds: boolean) =>
  fact(`${name} ${matcherText(wanted, holds)}`, holds);

const codeFact = (code: number | null, wanted: number) =>
  fact(`exit code ${code}${code === wanted ? '' : `, expected ${wanted}`}`, code === wanted);

/** A path below the folder of the run. */
export const pathInRun: Read<string> = (value, place) => {
  const path = is.text(value, place);
  if (path !== '' && !pathInside(path, []))
    place.mistake('must be a path below the folder of the run, such as src/a.js');
  return cleanPath(path);
};

interface FileOptions {
  path: string;
  exists?: boolean;
  changed?: boolean;
  contains?: string;
  matches?: string;
  flags?: string;
}

export function checkFile(options: Options): string | null {
  const { exists, contains, matches, flags } = options as unknown as FileOptions;
  const content = contains !== undefined || matches !== undefined;
  if (exists === false && content) return 'asks for the content of a file that must not exist';
  return flags !== undefined && matches === undefined ? 'has flags without matches' : null;
}

export const file: Grader = async (options, { place, tools }) => {
  const asked = options as unknown as FileOptions;
  const { path, contains, matches, flags = '', changed } = asked;
  const facts = place.file(path);
  const content = contains !== undefined || matches !== undefined;
  // Without any condition: the file exists.
  const exists = asked.exists ?? (content || changed === undefined ? true : undefined);
  if (exists !== undefined && facts.failure !== null) return broken(facts.failure);
  if (changed !== undefined && facts.changed === null)
    return broken(`whether the run changed ${path} is not known: ${UNKNOWN_CHANGES}`);
  const found =
    matches === undefined ? null : await tools.matches(matches, flags, [facts.text ?? '']);
  if (found !== null && found.failure !== null) return broken(found.failure);
  const evidence = [
    ...(exists === undefined ? [] : [existsFact(path, facts, exists)]),
    ...(changed === undefined ? [] : [changedFact(path, facts, changed)]),
    ...(contains === undefined || !facts.exists
      ? []
      : [contentFact(asked, facts, { contains }, facts.text?.includes(contains))]),
    ...(matches === undefined || !facts.exists
      ? []
      : [contentFact(asked, facts, { regex: matches, flags }, found?.matched[0])]),
  ];
  return gradeOf(evidence, evidence.map(({ text }) => text).join('; '));
};

const UNKNOWN_CHANGES = 'grade the recorded run with --run, or start it with the test';

const existsFact = (path: string, { exists }: FileFacts, wanted: boolean) =>
  fact(
    `${path} ${exists ? 'exists' : 'does not exist'}${exists && !wanted ? ', but should not' : ''}`,
    exists === wanted,
  );

const changedFact = (path: string, { changed }: FileFacts, wanted: boolean) =>
  fact(
    `${path} was ${changed ? '' : 'not '}changed${changed === wanted ? '' : `, but should ${wanted ? '' : 'not '}have been`}`,
    changed === wanted,
  );

const contentFact = (
  { path }: FileOptions,
  { text }: FileFacts,
  wanted: Matcher,
  holds = false,
): Evidence =>
  text === null
    ? fact(`${path} is not a readable text file`, false)
    : fact(`${path} ${matcherText(wanted, holds)}`, holds);
