/** Paths of a target are relative to the folder of its tacho.yaml: no other folder chooses the program of a trusted target. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { usePlace } from './cli.ts';

const place = usePlace();
const { tacho } = place;

const proof = () => join(place.folder, 'proof');
const ran = () => (existsSync(proof()) ? readFileSync(proof(), 'utf8') : '');

/** A program that prints its name. */
function program(folder: string, name: string): void {
  mkdirSync(folder, { recursive: true });
  const text = `#!/bin/sh\necho ${name} in "$PWD" >> ${proof()}\n`;
  writeFileSync(join(folder, 'agent.sh'), text, { mode: 0o755 });
}

/** The user's own project, with consent. */
async function trusted(target: object): Promise<void> {
  program(place.work, 'own');
  const config = { default_target: 'go', targets: { go: target } };
  writeFileSync(join(place.work, 'tacho.yaml'), JSON.stringify(config));
  expect((await tacho(['trust'])).code).toBe(0);
}

const TARGETS = {
  'a command': { agent: 'claude', command: './agent.sh' },
  'a command of an ACP agent': { agent: 'acp', command: ['./agent.sh'] },
  'a first argument of an ACP agent': { agent: 'acp', args: ['./agent.sh', '-x'] },
};

for (const [what, target] of Object.entries(TARGETS)) {
  test(`${what} is not found in a folder below`, async () => {
    await trusted(target);
    const below = join(place.work, 'unpacked');
    program(below, 'foreign');
    await tacho(['run', 'x'], { cwd: below });
    expect(ran()).toBe(`own in ${below}\n`);
  });

  test(`${what} is not found in the folder of --cwd`, async () => {
    await trusted(target);
    const elsewhere = join(place.folder, 'elsewhere');
    program(elsewhere, 'foreign');
    await tacho(['run', '--cwd', elsewhere, 'x']);
    expect(ran()).toBe(`own in ${elsewhere}\n`);
  });

  test(`${what} is not found in the workspace of a test`, async () => {
    await trusted(target);
    program(join(place.work, 'ws'), 'foreign');
    const assertions = [{ type: 'contains', value: 'x' }];
    const tests = [{ id: 'a', input: 'x', target: 'go', workspace: 'ws', assertions }];
    writeFileSync(join(place.work, 'e.yaml'), JSON.stringify({ tests }));
    await tacho(['eval', 'e.yaml']);
    expect(ran()).toMatch(/^own in .*tacho-eval-\w+\n$/);
  });
}

test('the folder of a target is relative to the folder of its file', async () => {
  await trusted({ agent: 'claude', command: './agent.sh', cwd: 'sub' });
  const below = join(place.work, 'unpacked');
  for (const folder of [place.work, below]) mkdirSync(join(folder, 'sub'), { recursive: true });
  await tacho(['run', 'x'], { cwd: below });
  expect(ran()).toBe(`own in ${place.work}/sub\n`);
});

test('consent shows the resolved paths', async () => {
  await trusted({ agent: 'claude', command: './agent.sh', cwd: 'sub' });
  const { records } = await tacho(['trust', '--list', '--json']);
  const { work } = place;
  const effect = `target go: starts ${work}/agent.sh as the agent claude, works in ${work}/sub`;
  expect(records).toMatchObject([{ effects: [effect] }]);
});

test('a name without a slash is looked up on the PATH', async () => {
  await trusted({ agent: 'claude', command: 'agent.sh' });
  program(join(place.folder, 'bin'), 'of the path');
  const path = `${join(place.folder, 'bin')}:${process.env.PATH}`;
  await tacho(['run', 'x'], { env: { PATH: path } });
  expect(ran()).toBe(`of the path in ${place.work}\n`);
});

test('--command overrides the target, and is relative to the current folder', async () => {
  await trusted({ agent: 'claude', command: './agent.sh' });
  const [here, elsewhere] = [join(place.work, 'here'), join(place.folder, 'elsewhere')];
  program(here, 'named');
  program(elsewhere, 'foreign');
  const options = { cwd: here, contract: 'none' } as const;
  const args = ['run', '--command', './agent.sh', '--cwd', elsewhere, '--output', 'json', 'x'];
  const { records } = await tacho(args, options);
  expect(records[0].data.command).toEqual([join(here, 'agent.sh')]);
  await tacho(['run', '--agent', 'claude', '--command', './agent.sh', 'x'], options);
  expect(ran()).toBe(`named in ${elsewhere}\nnamed in ${here}\n`);
});
