/** A new agent is a folder and a line: a copy of the sources gets one, is built, and knows it (AG-1). */
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { fixture, type Row, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const LINE = "  toy: async () => (await import('./toy/index.ts')).toy,\n";

/** The project without recordings and tests, and what it is built with. */
function copyOfProject(): string {
  const copy = join(place.folder, 'project');
  const isSource = (path: string) => !/[\\/]testdata$|\.test\.ts$/.test(path);
  for (const name of ['src', 'bin', 'scripts', 'package.json', 'tsconfig.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true, filter: isSource });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function filesIn(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}

verifies('AG-1', 'a new agent is its folder and one line of the registry', async () => {
  const copy = copyOfProject();
  const src = join(copy, 'src');
  const before = filesIn(src);
  cpSync(fixture('toy/index.ts.txt'), join(src, 'agents/toy/index.ts'));
  const registry = join(src, 'agents/registry.ts');
  writeFileSync(
    registry,
    readFileSync(registry, 'utf8').replace(/^ {2}demo: .*\n/m, (demo) => `${demo}${LINE}`),
  );

  const after = filesIn(src);
  const changed = [...after].filter(([path, text]) => before.get(path) !== text);
  expect(changed.map(([path]) => path).sort()).toEqual([
    'agents/registry.ts',
    'agents/toy/index.ts',
  ]);
  expect(after.get('agents/registry.ts')?.replace(LINE, '')).toBe(before.get('agents/registry.ts'));
  expect(after.get('agents/toy/index.ts')?.split('\n').length).toBeLessThanOrEqual(61);

  const tsc = join(root, 'node_modules/.bin/tsc');
  const config = { extends: './tsconfig.json', include: ['src/agents/toy'] };
  writeFileSync(join(copy, 'toy.json'), JSON.stringify(config));
  execFileSync(process.execPath, [tsc, '--noEmit', '-p', 'toy.json'], { cwd: copy });
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: copy });

  const PATH = [fixture('toy'), dirname(process.execPath)].join(delimiter);
  const options = { cwd: place.work, encoding: 'utf8' as const };
  const env = { PATH, HOME: place.folder, TACHO_HOME: place.state };
  const tacho = (...args: string[]): string =>
    execFileSync(process.execPath, [join(copy, 'bin/tacho.cjs'), ...args], { ...options, env });

  const lines = tacho('run', '--agent', 'toy', '--output', 'json', 'hello toy').trim().split('\n');
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
  expect({ ...toy, capabilities: null }).toEqual({
    id: 'toy',
    title: 'Toy',
    installed: true,
    built_in: false,
    path: join(fixture('toy'), 'toy-agent'),
    version: '1.0.0',
    version_checked: true,
    checked_versions: ['1.0.0'],
    install: 'it is in the test',
    capabilities: null,
  });
});
