/** A new agent is a folder and one line: a copy of the project gets one, passes the shared tests, is built, and runs it (AG-1). */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { fixture, type Row, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const LINE = "  toy: async () => (await import('./toy/index.ts')).toy,\n";
const LINES_MAX = 120;
const COPIED = ['bin', 'docs', 'rehearsal', 'schema', 'scripts', 'src', 'test', 'biome.json'];
const MORE = ['package.json', 'README.md', 'tsconfig.json', 'vitest.config.ts'];

/** Tests over all agents; of some only the toy's tests are run, because the others take long. */
const SHARED = [
  'src/agents/toy',
  'src/app/evals/recordings.test.ts',
  'src/evals/graders/skill-trigger.test.ts',
  'src/projections/transcript.test.ts',
  'test/contract/arrows.test.ts',
  'test/contract/generated.test.ts',
  'test/contract/one-verdict.test.ts',
  'test/contract/provider-failures.test.ts',
];
const EACH = ['foreign-values', 'live-recordings', 'views-agree'];

function copyOfProject(): string {
  const copy = join(place.folder, 'project');
  for (const name of [...COPIED, ...MORE])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function filesIn(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}

/** As described in CONTRIBUTING. Returns the number of hand-written lines. */
function addToy(copy: string): number {
  const folder = join(copy, 'src/agents/toy');
  mkdirSync(folder, { recursive: true });
  cpSync(fixture('toy/testdata'), join(folder, 'testdata'), { recursive: true });
  const names = readdirSync(fixture('toy')).filter((name) => /\.(md|txt)$/.test(name));
  const texts = names.map((name) => readFileSync(join(fixture('toy'), name), 'utf8'));
  for (const [at, name] of names.entries())
    writeFileSync(join(folder, name.replace('.txt', '')), texts[at]!);
  const registry = join(copy, 'src/agents/registry.ts');
  const before = readFileSync(registry, 'utf8');
  writeFileSync(
    registry,
    before.replace(/^ {2}demo: .*\n/m, (demo) => `${demo}${LINE}`),
  );
  return texts.join('').split('\n').length - 1;
}

verifies(
  'AG-1',
  'a new agent needs a folder and one line in the registry',
  async () => {
    const copy = copyOfProject();
    const src = join(copy, 'src');
    const before = filesIn(src);
    expect(addToy(copy)).toBeLessThanOrEqual(LINES_MAX);
    const env = { PATH: dirname(process.execPath), HOME: place.folder };
    const node = (path: string, ...args: string[]) =>
      execFileSync(process.execPath, [path, ...args], { cwd: copy, env, stdio: 'pipe' });
    const tool = (name: string, ...args: string[]) =>
      node(join(root, 'node_modules/.bin', name), ...args);
    node('scripts/shapes.ts', '--agent', 'toy', 'src/agents');

    const after = filesIn(src);
    const changed = [...after].filter(([path, text]) => before.get(path) !== text);
    expect(changed.map(([path]) => path).filter((path) => !path.startsWith('agents/toy/'))).toEqual(
      ['agents/registry.ts'],
    );
    expect(after.get('agents/registry.ts')?.replace(LINE, '')).toBe(
      before.get('agents/registry.ts'),
    );

    const config = { extends: './tsconfig.json', include: ['src/agents/toy'] };
    writeFileSync(join(copy, 'toy.json'), JSON.stringify(config));
    tool('tsc', '--noEmit', '-p', 'toy.json');
    tool('biome', 'ci', '--vcs-enabled=false', 'src/agents/toy');
    const unit = ['run', '--project', 'unit', '--reporter', 'dot'];
    tool('vitest', ...unit, ...SHARED);
    tool('vitest', ...unit, '-t', 'toy', ...EACH.map((name) => `test/contract/${name}.test.ts`));
    node('scripts/build.mjs');

    const PATH = [fixture('toy'), dirname(process.execPath)].join(delimiter);
    const options = { cwd: place.work, encoding: 'utf8' as const };
    const tacho = (...args: string[]): string =>
      execFileSync(process.execPath, [join(copy, 'bin/tacho.cjs'), ...args], {
        ...options,
        env: { ...env, PATH, TACHO_HOME: place.state },
      });

    const lines = tacho('run', '--agent', 'toy', '--output', 'json', 'hello toy')
      .trim()
      .split('\n');
    const records: Row[] = lines.map((line) => JSON.parse(line));
    const { data } = records.at(-1);
    expect({
      ends: records
        .filter(({ type }) => type === 'tool_exec_finished')
        .map(({ data: { tool, ok, exit_code } }) => ({ tool, ok, exit_code })),
      ok: data.ok,
      exit_reason: data.exit_reason,
      final_output: data.final_output,
    }).toEqual({
      ends: [
        { tool: 'Bash', ok: true, exit_code: 0 },
        { tool: 'Bash', ok: false, exit_code: 3 },
      ],
      ok: true,
      exit_reason: 'ok',
      final_output: 'You said: hello toy',
    });
    const listed: Row[] = JSON.parse(tacho('agents', '--json'));
    const toy = listed.find(({ id }) => id === 'toy');
    expect({ ...toy, capabilities: null, approval: null }).toEqual({
      id: 'toy',
      title: 'Toy',
      installed: true,
      built_in: false,
      path: join(fixture('toy'), 'toy-agent'),
      version: '1.0.0',
      version_checked: true,
      checked_versions: ['1.0.0'],
      run: true,
      import: false,
      watch: false,
      rehearsed: [],
      install: 'it is in the test',
      capabilities: null,
      approval: null,
    });
  },
  300_000,
);
