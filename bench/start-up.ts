/**
 * The cost of starting tacho, and the overhead of `tacho run`: user and system CPU including children, compared with
 * Node and an empty file. All commands are interleaved.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuSeconds, type Row } from './measure.ts';

const TURNS = 15;
const root = join(import.meta.dirname, '..');
const TACHO = [process.execPath, join(root, 'bin', 'tacho.cjs')];
/** A program that prints one line, the end of a run in the demo dialect. */
const PROGRAM = ['/bin/echo', '{"t":"end","reason":"ok"}'];
const RUN = ['run', '--agent', 'demo', '--command', '/bin/echo', 'go', '--', PROGRAM[1] as string];

interface Taken {
  best: number;
  median: number;
}

interface Command {
  name: string;
  words: readonly string[];
  cwd?: string;
}

/** Milliseconds of each command, interleaved so that a busy machine affects all; the first round is dropped. */
function take(commands: readonly Command[]): Map<string, Taken> {
  const all = new Map(commands.map(({ name }) => [name, [] as number[]]));
  for (let turn = -1; turn < TURNS; turn++)
    for (const { name, words, cwd } of commands) {
      const ms = cpuSeconds(words, cwd) * 1000;
      if (turn >= 0) all.get(name)?.push(ms);
    }
  const taken = ([name, times]: [string, number[]]): [string, Taken] => {
    const sorted = times.toSorted((a, b) => a - b);
    return [name, { best: sorted[0] as number, median: sorted[TURNS >> 1] as number }];
  };
  return new Map([...all].map(taken));
}

const inMs = (value: number) => `${value.toFixed(1)} ms`;

/** `most`: null when there is no target. */
function againstNode(name: string, taken: Taken, node: Taken, most: number | null): Row {
  const ratio = taken.best / node.best;
  return {
    name: `${name}, CPU, best of ${TURNS} (median ${inMs(taken.median)}), vs. Node with an empty file`,
    value: inMs(taken.best),
    reference: inMs(node.best),
    ratio,
    target: most === null ? null : `≤ ${most} ×`,
    ok: most === null ? null : ratio <= most,
  };
}

/** The second includes four calls of git for the work tree. */
const RUN_MOST_MS: Record<string, number> = {
  'in a folder without a repository': 80,
  'in a git work tree': 110,
};

/** CPU of `tacho run` with a program, minus the CPU of the program alone. */
function overProgram(where: string, run: Taken, program: Taken): Row {
  const more = run.best - program.best;
  const most = RUN_MOST_MS[where] as number;
  return {
    name: `\`tacho run\` of a program that prints a line, ${where}: CPU over the program's own, best of ${TURNS} (median ${inMs(run.median - program.median)})`,
    value: inMs(more),
    reference: inMs(program.best),
    ratio: null,
    target: `≤ ${most} ms`,
    ok: more <= most,
  };
}

/** Every command that has a help text, without the program itself. */
function helpCommands(): Command[] {
  const files = readdirSync(join(root, 'dist', 'texts')).filter((file) =>
    file.startsWith('tacho-'),
  );
  return files.map((file) => {
    const words = file.slice('tacho-'.length, -'.txt'.length).split('-');
    return { name: `\`tacho ${words.join(' ')} --help\``, words: [...TACHO, ...words, '--help'] };
  });
}

function helpRows(node: Command, most: number): Row[] {
  const helps = helpCommands();
  const times = take([node, ...helps]);
  const of = (name: string) => times.get(name) as Taken;
  const slowest = helps.toSorted((a, b) => of(b.name).best - of(a.name).best)[0] as Command;
  const row = againstNode(slowest.name, of(slowest.name), of(node.name), most);
  return [{ ...row, name: `the slowest of ${helps.length} commands' help: ${row.name}` }];
}

const LIMITS: Record<string, number> = {
  '`tacho --version`': 1.1,
  '`tacho --help`': 1.15,
  '`tacho runs list` in an empty folder': 1.5,
};
const HELP_MOST = 1.3;

/** Folders: an empty one, one without a repository, and a git work tree. */
function makeFolders(base: string) {
  const [empty, plain, git] = ['empty', 'plain', 'git'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ];
  // Each has its own store.
  for (const path of [empty, plain, git]) mkdirSync(join(path, '.tacho'), { recursive: true });
  const inGit = (...args: string[]) => execFileSync('git', args, { cwd: git, stdio: 'ignore' });
  inGit('init', '-q');
  writeFileSync(join(git, 'a'), 'a\n');
  inGit('add', '.');
  inGit('-c', 'user.name=t', '-c', 'user.email=t@example.invalid', 'commit', '-qm', 'one');
  return { empty, plain, git };
}

export function run(): Row[] {
  const base = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const { empty, plain, git } = makeFolders(base);
    const nothing = join(base, 'empty.cjs');
    writeFileSync(nothing, '');
    const recording = join(base, 'recording.jsonl');
    writeFileSync(recording, `${PROGRAM[1]}\n`);
    const node = { name: 'node', words: [process.execPath, nothing] };
    const tacho = (words: string, what: string, cwd: string): Command => {
      const name = `\`tacho ${words}\`${what}`.replace(recording, 'FILE');
      return { name, words: [...TACHO, ...words.split(' ')], cwd };
    };
    const starts = [
      tacho('--version', '', empty),
      tacho('--help', '', empty),
      tacho('runs list', ' in an empty folder', empty),
    ];
    const others = [
      tacho('agents', '', plain),
      tacho('doctor', '', plain),
      tacho('import pi --all', ' of nothing new', plain),
      tacho(`convert --agent demo ${recording}`, ' of one line', plain),
      tacho('runs show last', '', plain),
      tacho('show last', '', plain),
    ];
    const runs = [
      { name: 'program', words: PROGRAM },
      { name: 'in a folder without a repository', words: [...TACHO, ...RUN], cwd: plain },
      { name: 'in a git work tree', words: [...TACHO, ...RUN], cwd: git },
    ];
    const times = take([node, ...starts, ...runs, ...others]);
    const of = (name: string) => times.get(name) as Taken;
    const program = of('program');
    return [
      ...starts.map(({ name }) => againstNode(name, of(name), of('node'), LIMITS[name] ?? null)),
      ...helpRows(node, HELP_MOST),
      ...runs.slice(1).map(({ name }) => overProgram(name, of(name), program)),
      ...others.map(({ name }) => againstNode(name, of(name), of('node'), null)),
    ];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}
