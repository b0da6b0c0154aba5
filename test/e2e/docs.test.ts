/**
 * Runs every command in the guide and the README: the lines of `sh` blocks that start with `$ `, each page in its own
 * folder. Before a block, `<!-- exit: N -->` gives the exit code of its commands, `<!-- file: NAME -->` makes the block a
 * file, and `<!-- needs: PROGRAM -->` skips the block when that program is missing. Instead of an agent, a program prints
 * one of its recordings: the real agent costs money, and the rehearsal runs it.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isThere, note } from './needs.ts';

const root = join(import.meta.dirname, '..', '..');
const GUIDE = join('docs', 'guide');
/** Agent program → the recording that its replacement prints. */
const STAND_INS: Readonly<Record<string, string>> = {
  claude: 'src/agents/claude/testdata/text/stdout.jsonl',
};
const BLOCK = /((?:^<!-- \w+: .+? -->\n+)*)^```(\w+)\n([\s\S]*?)^```$/gm;
const NOTE = /<!-- (\w+): (.+?) -->/g;

interface Block {
  language: string;
  text: string;
  notes: Readonly<Record<string, string>>;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(BLOCK)].map(([, notes = '', language = '', text = '']) => ({
    language,
    text,
    notes: Object.fromEntries([...notes.matchAll(NOTE)].map(([, name, value]) => [name, value])),
  }));
}

/** The commands of a block; a line that ends with a backslash continues. */
function commandsOf({ text }: Block): string[] {
  return text
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.startsWith('$ '))
    .map((line) => line.slice(2));
}

const canRun = (program: string) => Object.hasOwn(STAND_INS, program) || isThere(program);

interface Ended {
  code: number | null;
  output: string;
}

function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

function describePage(path: string): void {
  let folder = '';
  const env = { ...process.env };
  delete env.TACHO_HOME;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tacho-docs-'));
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const program = `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'bin', 'tacho.cjs')}" "$@"\n`;
    writeFileSync(join(bin, 'tacho'), program);
    chmodSync(join(bin, 'tacho'), 0o755);
    for (const [name, recording] of Object.entries(STAND_INS)) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec cat "${join(root, recording)}"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    mkdirSync(join(folder, 'work', 'node_modules'), { recursive: true });
    symlinkSync(root, join(folder, 'work', 'node_modules', 'tacho'));
    // The page's consent is stored there, and so is a session of an agent.
    env.HOME = join(folder, 'home');
    cpSync(join(root, 'src/agents/claude/testdata/text/session'), env.HOME, { recursive: true });
    delete env.XDG_STATE_HOME;
    env.PATH = [bin, dirname(process.execPath), process.env.PATH].join(delimiter);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  for (const block of blocksOf(readFileSync(join(root, path), 'utf8'))) {
    const { file, needs, exit = '0' } = block.notes;
    if (file !== undefined) {
      test(`${file} is written`, () => writeFileSync(join(folder, 'work', file), block.text));
    }
    if (block.language !== 'sh') continue;
    for (const command of commandsOf(block)) {
      if (needs !== undefined && !canRun(needs)) {
        note(`${path}: needs ${needs}: ${command}`);
        test.skip(`(needs ${needs}) ${command}`, () => {});
        continue;
      }
      test(command, async () => {
        const { code, output } = await shell(command, join(folder, 'work'), env);
        expect({ code, output }).toEqual({ code: Number(exit), output });
      });
    }
  }
}

const pages = readdirSync(join(root, GUIDE))
  .filter((name) => name.endsWith('.md'))
  .sort()
  .map((name) => join(GUIDE, name));

for (const page of [...pages, 'README.md']) describe(page, () => describePage(page));

test('every page of the guide has a command to run', () => {
  const silent = pages.filter((page) =>
    blocksOf(readFileSync(join(root, page), 'utf8')).every(
      (block) => block.language !== 'sh' || commandsOf(block).length === 0,
    ),
  );
  expect(silent).toEqual([]);
});
