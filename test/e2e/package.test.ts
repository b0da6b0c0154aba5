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
  connect, convert, grade as gradeToo, openStore, record, run, runEvents, TachoError, validate,
  type Event, type EventOf, type ListOptions, type Run, type RunEvent, type RunOptions, type RunOutcome, type RunRow,
  type Store, type Transcript, type ValidateReport,
} from 'tacho';
import { grade, type GradeResult } from 'tacho/evals';
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
}
export const report: ValidateReport = await validate({ input: 'x' });
const live: LiveConnection = connectLive({ url: 'unix:x' });
live.session({ agent: 'mine' }).send('message_start', { message: { id: 'm', role: 'assistant' } });
export const graded: GradeResult = await grade({ text: 'tests: []', runs: ['last'] });
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
    'tacho true TachoError connect convert grade openStore record run runEvents validate',
    'tacho/store true TachoError openStore',
    'tacho/live true TachoError connect',
    'tacho/evals true TachoError grade',
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
