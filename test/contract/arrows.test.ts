/** Checks the sources against the import rules, purity, names and sizes in ARCHITECTURE.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';

const src = join(import.meta.dirname, '..', '..', 'src');

const PARTS = [
  'model',
  'lib',
  'agents',
  'capture',
  'redact',
  'store',
  'projections',
  'evals',
  'live',
  'conformance',
];

/** Folder → the folders it may import besides itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  model: [],
  lib: ['model'],
  agents: ['model', 'lib'],
  capture: ['model', 'lib'],
  redact: ['model', 'lib'],
  store: ['model', 'lib'],
  projections: ['model', 'lib'],
  evals: ['model', 'lib'],
  live: ['model', 'lib'],
  conformance: ['model', 'lib'],
  tui: ['model', 'lib'],
  app: [...PARTS, 'tui'],
  'index.ts': [...PARTS, 'app', 'live.ts', 'store.ts', 'evals.ts'],
  'live.ts': [...PARTS, 'app'],
  'store.ts': [...PARTS, 'app'],
  'evals.ts': [...PARTS, 'app'],
  cli: [...PARTS, 'tui', 'app'],
};
/** Subfolders of a part, and the sibling subfolders each may import. */
const INNER: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  live: {
    protocol: [],
    transports: ['protocol'],
    sender: ['protocol'],
    collector: ['protocol', 'transports'],
  },
};
const PURE = [
  /^projections\//,
  /^evals\//,
  /^conformance\//,
  /^model\/run-fold\.ts$/,
  // The loop guard hashes.
  /^capture\/(?!budget)[^/]+\.ts$/,
];
const IMPURE =
  /from 'node:|import\('node:|\bDate\.now\(|new Date\(\)|Math\.random\(|performance\.now\(/;
/** Schemas are read at build time only: they would bring the schema library into every start. */
const SCHEMAS = /^model\/(event|outcome|run-event|parts|live|comparison|audit)\.ts$/;
/** The built-in agent and the agent for any program may be named. */
const NAMES = (await allAgents())
  .filter(({ binaries }) => binaries.length > 0)
  .map(({ id }) => id)
  // A common word, which says nothing about the agent.
  .filter((id) => id !== 'cursor');
const AGENT_NAME = new RegExp(`\\b(${NAMES.join('|')})\\b`, 'i');
/** An example in a help text. */
const EXAMPLE = /\$ .*\b(tacho|claude)\b/;
const FORBIDDEN = /\bprocess\.exit\(|node:readline|\binnerHTML\b|\bTODO\b|\bFIXME\b/;
const VAGUE_FOLDER = /(^|\/)(core|common|shared|utils?|helpers?)\//;

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.includes('testdata'))
  .map((path) => ({ path, text: readFileSync(join(src, path), 'utf8') }));
const sources = files.filter(({ path }) => !path.endsWith('.test.ts'));
const folderOf = (path: string) => path.split('/')[0] as string;

/** Paths under src/ that a file imports, and whether only for types. */
function importsOf({ path, text }: (typeof files)[number]): { to: string; types: boolean }[] {
  const statements =
    /(?:^|\n)(import|export)( type)?\b[^;'"]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/g;
  return [...text.matchAll(statements)].map(([, , types, from, dynamic]) => ({
    to: relative(src, join(src, dirname(path), from ?? dynamic ?? '')),
    types: types !== undefined,
  }));
}

const found = (wrong: (file: (typeof files)[number]) => string[]) =>
  sources.flatMap((file) => wrong(file).map((what) => `${file.path}: ${what}`));

test('arrows point towards model/, and siblings do not import each other', () => {
  const wrong = found((file) => {
    const from = folderOf(file.path);
    const allowed = ARROWS[from];
    if (allowed === undefined) return ['is in a folder missing from the table'];
    return importsOf(file)
      .map(({ to }) => to)
      .filter((to) => folderOf(to) !== from && !allowed.includes(folderOf(to)))
      .map((to) => `imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test('inside a part arrows point one way, and a command imports no other command', () => {
  const wrong = found((file) => {
    const [part = '', from = '', rest] = file.path.split('/');
    if (rest === undefined || (INNER[part] === undefined && part !== 'cli')) return [];
    const allowed = INNER[part]?.[from] ?? [];
    return importsOf(file)
      .map(({ to }) => to.split('/'))
      .filter(([other, folder = '', inner]) => {
        const outside = other !== part || folder === from || inner === undefined;
        return !outside && !allowed.includes(folder);
      })
      .map((to) => `imports ${to.join('/')}`);
  });
  expect(wrong).toEqual([]);
});

test('no file imports itself through other files, not even for types', () => {
  let left = new Map(sources.map((file) => [file.path, importsOf(file).map(({ to }) => to)]));
  for (let before = Infinity; left.size < before; ) {
    before = left.size;
    const imported = new Set([...left.values()].flat());
    const among = left;
    left = new Map(
      [...left].filter(([path, to]) => imported.has(path) && to.some((one) => among.has(one))),
    );
  }
  const knots = [...left].map(
    ([path, to]) => `${path} imports ${to.filter((one) => left.has(one)).join(', ')}`,
  );
  expect(knots).toEqual([]);
});

test('redaction is imported only through its gate; its limits are data', () => {
  const wrong = found((file) =>
    folderOf(file.path) === 'redact'
      ? []
      : importsOf(file)
          .filter(({ to }) => folderOf(to) === 'redact' && !/^redact\/(gate|limits)\.ts$/.test(to))
          .map(({ to }) => `imports ${to}`),
  );
  expect(wrong).toEqual([]);
});

test('an agent imports the kit and no other agent', () => {
  const wrong = found((file) => {
    const [folder, agent, rest] = file.path.split('/');
    if (folder !== 'agents' || rest === undefined) return [];
    return importsOf(file)
      .filter(({ to }) => to.startsWith('agents/'))
      .filter(({ to }) => !to.startsWith(`agents/${agent}/`) && !to.startsWith('agents/kit/'))
      .map(({ to }) => `imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test('projections and the inner capture are pure: no files, no clock, no random numbers', () => {
  const wrong = found(({ path, text }) =>
    PURE.some((pure) => pure.test(path))
      ? text.split('\n').filter((line) => IMPURE.test(line))
      : [],
  );
  expect(wrong).toEqual([]);
});

test('schemas are imported for their types only', () => {
  const wrong = found((file) =>
    folderOf(file.path) === 'model'
      ? []
      : importsOf(file)
          .filter(({ to, types }) => SCHEMAS.test(to) && !types)
          .map(({ to }) => `imports ${to} at run time`),
  );
  expect(wrong).toEqual([]);
});

test("no agent's name appears outside agents/ except in help text examples", () => {
  const wrong = found(({ path, text }) =>
    folderOf(path) === 'agents'
      ? []
      : text
          .split('\n')
          .filter((line) => AGENT_NAME.test(line))
          .filter((line) => !(folderOf(path) === 'cli' && EXAMPLE.test(line))),
  );
  expect(wrong).toEqual([]);
});

test('no source uses a forbidden construct, and no folder has a vague name', () => {
  const wrong = found(({ path, text }) => [
    ...text.split('\n').filter((line) => FORBIDDEN.test(line)),
    ...(VAGUE_FOLDER.test(path) ? ['is in a folder with a vague name'] : []),
  ]);
  expect(wrong).toEqual([]);
});

test('a command prints through its io, and JSON through the JSON function', () => {
  const direct = /\b(process\.std(out|err)\.write|console\.\w+)\(/;
  const json = /\.write\([^;]*JSON\.stringify/;
  const wrong = found(({ path, text }) =>
    folderOf(path) !== 'cli' && folderOf(path) !== 'app'
      ? []
      : [direct, folderOf(path) === 'cli' ? json : direct].flatMap(
          (pattern) => pattern.exec(text)?.[0] ?? [],
        ),
  );
  // The --events file is not an output stream; it takes JSON with control characters escaped.
  expect(wrong.filter((line) => !line.startsWith('cli/run/show.ts'))).toEqual([]);
});

test('only the command line sets the exit code, in a single place', () => {
  const setting = sources.filter(({ text }) => /process\.exitCode\s*=/.test(text));
  expect(setting.map(({ path }) => path).sort()).toEqual([
    'agents/acp/program/main.ts',
    'agents/demo/program/main.ts',
    'cli/main.ts',
  ]);
});

test('no source file has more than 500 lines', () => {
  const wrong = found(({ path, text }) =>
    text.split('\n').length > 500 && !path.includes('generated/') ? ['is too long'] : [],
  );
  expect(wrong).toEqual([]);
});
