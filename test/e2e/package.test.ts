/** The published package: packed once, unpacked into a project, and used from there. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from './cli.ts';

const PROGRAM = `import {
  agents, connect, convert, doctor, drift, grade as gradeToo, openStore, record, run, runEvents, TachoError, validate,
  type AgentReport, type Collected, type DoctorFinding, type DriftReport, type Event, type EventOf, type ListOptions, type Run, type RunEvent, type RunOptions, type RunOutcome, type RunRow,
  type Store, type Transcript, type ValidateReport,
} from 'tacho';
import { compareEvals, grade, runEval, type Comparison, type EvalRow, type GradeResult } from 'tacho/evals';
import { connect as connectLive, type LiveConnection } from 'tacho/live';
import { openStore as openOnly } from 'tacho/store';
import outcomeSchema from 'tacho/schema/outcome.json' with { type: 'json' };

const options: RunOptions = { agent: 'demo', prompt: 'x', maxCostUsd: 1, loopGuard: 3, timeoutMs: 5, retries: 1 };
const one: Run = run(options);
const outcome: RunOutcome = await one.outcome;
export const id: string = one.runId;
export const reason: 'ok' | (string & {}) = outcome.exit_reason;
export const size: number | null | undefined = outcome.artifacts[0]?.size;
one.confirm({ callId: 'c', confirmed: true });
// @ts-expect-error: a string is not a number
export const wrong: number = outcome.exit_reason;
// @ts-expect-error: no such field
export const nothing = outcome.nonsense;
// @ts-expect-error: options are in camelCase
run({ agent: 'demo', prompt: 'x', timeout_ms: 5 });
export const statusOf = (event: Event) => event.kind === 'call_finished' && event.data.status;
export const textOf = (event: EventOf<'message_finished'>): string => event.data.text;
// @ts-expect-error: a call's end has no text
export const noText = (event: Event) => event.kind === 'call_finished' && event.data.text;
for await (const line of runEvents(one)) {
  const kept: RunEvent = line;
  if (kept.type === 'tool_exec_started') console.log(kept.data.tool);
}
export const sdk: Run = record({ agent: 'claude', messages: [], prompt: 'x' });
export const read: Promise<RunOutcome> = convert({ agent: 'claude', input: 'x' }).outcome;
const query: ListOptions = { since: '2d', labels: { team: null }, status: 'failed' };
{
  using store: Store = openStore({ stateDir: 'x' });
  for await (const row of store.list(query)) {
    const kept: RunRow = row;
    const transcript: Transcript = await store.transcript(kept.run_id);
    console.log(transcript.messages[0]?.tool_calls[0]?.input, (await store.verify('last')).faults);
  }
  const collected: Collected = await store.gc({ maxAgeMs: 1, labels: { team: 'blue' }, dryRun: true });
  if (collected.archive !== null) console.log((await store.restore(collected.archive)).restored);
  for await (const { state, outcome } of store.recover({ wait: false })) console.log(state, outcome?.run_id);
  console.log((await store.stats({ ...query, by: ['model'] })).by_model?.[0]?.cost, (await store.reindex()).runs);
  // @ts-expect-error: the sums are by model or project
  await store.stats({ by: ['day'] });
}
export const installed: AgentReport[] = await agents();
export const healthy: boolean = (await doctor()).every(({ ok }: DoctorFinding) => ok !== false);
export const drifted: DriftReport = await drift({ agent: 'claude', input: 'x', from: 'session' });
export const report: ValidateReport = await validate({ input: 'x' });
const live: LiveConnection = connectLive({ url: 'unix:x' });
{
  await using short = connectLive({ url: 'unix:x' });
  console.log(await short.flush(1));
}
live.session({ agent: 'mine' }).send('message_start', { message: { id: 'm', role: 'assistant' } });
const file: string | undefined = process.env.EVAL;
export const graded: GradeResult = await grade({ file, text: 'tests: []', runs: ['last'] });
const rows: EvalRow[] = (await runEval({ text: 'tests: []', agent: 'demo', maxSteps: 9, onResult: (row) => row.id })).rows;
export const compared: Comparison = await compareEvals({ before: rows, after: 'after.jsonl' });
export const codes = (error: unknown) => error instanceof TachoError && error.code === 'busy';
export { connect, gradeToo, openOnly, outcomeSchema };
`;

const MODES = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};
const COMPILERS = {
  '7': join(root, 'node_modules/typescript/bin/tsc'),
  '5.9': join(root, 'scripts/types/node_modules/typescript/bin/tsc'),
};

let project = '';
let files: string[] = [];

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'tacho-package-'));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  files = packed.files.map(({ path }: { path: string }) => path);
  const installed = join(project, 'node_modules/tacho');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['xzf', join(project, packed.filename), '-C', installed, '--strip', '1']);
  for (const name of ['@types', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  writeFileSync(join(project, 'program.ts'), PROGRAM);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Output of a program in the project. */
function outputOf(program: string, ...flags: string[]) {
  const args = [...flags, '--input-type=module', '-e', program];
  const env = { PATH: process.env.PATH ?? '', TACHO_HOME: join(project, 'state') };
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: project,
    env,
    encoding: 'utf8',
  });
  return { stdout, stderr };
}

for (const [version, tsc] of Object.entries(COMPILERS))
  for (const [mode, options] of Object.entries(MODES))
    test(`a strict project compiles with TypeScript ${version} and ${mode}, including library checks`, () => {
      const config = join(project, `tsconfig.${version}.${mode}.json`);
      const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
      const made = { ...strict, target: 'es2024', noEmit: true, resolveJsonModule: true };
      const compilerOptions = {
        ...made,
        ...options,
        lib: ['es2024', 'esnext.disposable'],
        types: ['node'],
      };
      writeFileSync(config, JSON.stringify({ compilerOptions, files: ['program.ts'] }));
      const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', config], {
        cwd: project,
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    });

test('the package has one declaration file per entry, and every type in it has a name', () => {
  expect(files.filter((path) => path.endsWith('.d.ts')).sort()).toEqual(
    ['evals', 'index', 'live', 'store'].map((name) => `dist/${name}.d.ts`),
  );
  for (const path of files.filter((name) => name.endsWith('.d.ts'))) {
    const text = readFileSync(join(project, 'node_modules/tacho', path), 'utf8');
    expect(text).not.toMatch(/[:<|] ?any[;>, ]|typebox|import\('|from '/);
  }
});

const ENTRIES = { index: 'tacho', store: 'tacho/store', live: 'tacho/live', evals: 'tacho/evals' };
const declarations = (entry: string) =>
  readFileSync(join(project, `node_modules/tacho/dist/${entry}.d.ts`), 'utf8');

test('every exported name, and every field of an interface, has a comment', () => {
  for (const entry of Object.keys(ENTRIES)) {
    let fields = false;
    let before = '';
    const bare: string[] = [];
    for (const line of declarations(entry).split('\n')) {
      if (/^\S/.test(line)) fields = /^export (?:interface|declare class) /.test(line);
      const needed = /^export \w/.test(line) || (fields && /^ {4}(?!constructor)[\w[]/.test(line));
      if (needed && !before.endsWith('*/')) bare.push(line);
      before = line;
    }
    expect([entry, bare]).toEqual([entry, []]);
  }
});

test('the reference describes every export of every entry', () => {
  const page = readFileSync(join(project, 'node_modules/tacho/docs/reference/library.md'), 'utf8');
  const sections = new Map(page.split(/^## /m).map((text) => [text.split('\n', 1)[0], text]));
  const all = [...sections.values()].join('');
  for (const [entry, title] of Object.entries(ENTRIES)) {
    // The first entry has the names of all others.
    const text = entry === 'index' ? all : (sections.get(`\`${title}\``) ?? '');
    const names = [...declarations(entry).matchAll(/^export (?:declare )?\w+ (\w+)/gm)].map(
      ([, name = '']) => name,
    );
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !text.includes(`\`${name}`))).toEqual([]);
  }
});

test('an import starts nothing, and loads no agent', () => {
  const { stdout } = outputOf(`
    import 'tacho';
    const { moduleLoadList } = process;
    const loaded = ['child_process', 'worker_threads', 'sqlite'].filter((name) => moduleLoadList.includes('NativeModule ' + name));
    console.log(JSON.stringify([process.getActiveResourcesInfo(), loaded]));`);
  expect(JSON.parse(stdout)).toEqual([[], []]);
});

test('all entries, the schemas and package.json can be imported, also with require', () => {
  const { stdout, stderr } = outputOf(`
    import { createRequire } from 'node:module';
    const require = createRequire(import.meta.url);
    const names = (module) => Object.keys(module).sort().join(' ');
    for (const entry of ['tacho', 'tacho/store', 'tacho/live', 'tacho/evals'])
      console.log(entry, names(await import(entry)) === names(require(entry)), names(require(entry)));
    console.log(require('tacho/package.json').name, require('tacho/schema/event.json').title);`);
  expect(stderr).toBe('');
  expect(stdout.split('\n')).toEqual([
    'tacho true QueryError TachoError agents alignCalls callsOf compareEvals compareRuns connect convert doctor drift grade openStore parseQuery record run runEval runEvents validate watch watchStatus',
    'tacho/store true QueryError TachoError alignCalls callsOf compareRuns openStore parseQuery',
    'tacho/live true TachoError connect',
    'tacho/evals true TachoError compareEvals grade runEval',
    'tacho tacho.event.v1',
    '',
  ]);
});

test('an older Node gets the command that helps', () => {
  const older = "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })";
  const { stderr } = outputOf("import 'tacho/store'", '--import', `data:text/javascript,${older}`);
  expect(stderr).toContain('tacho needs Node.js 24 or newer; this is 20.1.0. Run the program with');
  for (const name of readdirSync(join(root, 'dist')).filter((path) => path.endsWith('.js')))
    expect(readFileSync(join(root, 'dist', name), 'utf8')).not.toMatch(/[;{}]using /);
});

test('tacho works when bundled, and reports files that a bundle lacks', async () => {
  const recording = join(root, 'src/agents/claude/testdata/text/stdout.jsonl');
  const program = `import { convert, run } from 'tacho';
    console.log((await convert({ agent: 'claude', input: ${JSON.stringify(recording)} }).outcome).success);
    await run({ agent: 'demo', prompt: 'x' }).outcome.catch(({ code, message }) => console.log(code, message));`;
  await build({
    stdin: { contents: program, resolveDir: project },
    outfile: join(project, 'bundled.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  const { stdout, stderr } = outputOf("await import('./bundled.mjs')");
  expect(stderr).toBe('');
  expect(stdout.split('\n')).toEqual([
    'true',
    expect.stringMatching(/^not_found .* is missing: .*keep tacho external/),
    '',
  ]);
});
