/** Time to import a whole home, the first time and again, compared with a loop that only reads, splits and parses. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { cpuSeconds, memoryMb, type Row } from './measure.ts';
import { recordingAt, SHAPES, type Shape, writeRecording } from './recordings.ts';
import { BARE_LOOP } from './session.ts';

const SESSIONS = 1_000;
/** Many short sessions; the long ones have most of the bytes. */
const SIZES_MB = [0.2, 0.5, 1, 2, 6];
const FIRST_S_MOST = 30;
const MEMORY_MOST_MB = 200;
const AGAIN_S_MOST = 0.3;
const STORE_MOST = 0.3;
/** Files that changed just before they were read are read again. */
const SETTLED_MS = 3_000;
const DAY_MS = 86_400_000;
const FROM_MS = Date.UTC(2026, 0, 1);

/** Where each CLI keeps its sessions, and the folder of the recording that represents it. */
const KEPT: Readonly<Record<string, [home: string, recorded: string]>> = {
  claude: ['.claude', '.claude'],
  codex: ['.codex', '.codex'],
  copilot: ['.copilot/session-state', ''],
  gemini: ['.gemini', 'dot-gemini'],
  pi: ['.pi/agent', ''],
  qwen: ['.qwen', '.qwen'],
};
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}(?=\.jsonl$)/;

/** The session as the `n`th of its agent, with another id and day. */
function changed(shape: Shape, n: number) {
  const recorded = recordingAt(shape);
  const id = ID.exec(shape.agent === 'copilot' ? basename(dirname(recorded)) : basename(recorded));
  const known = id?.[0].slice(0, 8) ?? '';
  const own = (0x10000000 + n).toString(16);
  const at_ms = FROM_MS + n * DAY_MS;
  const day = new Date(at_ms).toISOString().slice(0, 10);
  const change = (text: string) =>
    text
      .replaceAll(known, own)
      .replaceAll('2026-11-15', day)
      .replaceAll('2026/11/15', day.replaceAll('-', '/'))
      .replaceAll(/\b1794\d{9}\b/g, (ms) => String(at_ms + (Number(ms) % DAY_MS)));
  const [home, kept] = KEPT[shape.agent] as [string, string];
  const [folder = ''] = recorded.split(`/session/`);
  const path = relative(join(folder, 'session', kept), recorded);
  return { path: join(home, change(path)), change };
}

async function writeHome(home: string): Promise<void> {
  const shapes = SHAPES.filter(({ agent, from }) => from === 'session' && agent in KEPT);
  for (let n = 0; n < SESSIONS; n++) {
    const shape = shapes[n % shapes.length] as Shape;
    const { path, change } = changed(shape, Math.floor(n / shapes.length));
    mkdirSync(dirname(join(home, path)), { recursive: true });
    const mb = SIZES_MB[n % SIZES_MB.length] as number;
    await writeRecording(shape, join(home, path), mb * 1e6, change);
  }
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const home = join(folder, 'home');
    await writeHome(home);
    await setTimeout(SETTLED_MS);
    return await rowsOf(folder, home);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
const bytesOf = (files: readonly string[]) =>
  files.reduce((sum, path) => sum + statSync(path).size, 0);

async function rowsOf(folder: string, home: string): Promise<Row[]> {
  const loop = join(folder, 'loop.mjs');
  writeFileSync(loop, BARE_LOOP);
  const files = filesIn(home).filter((path) => path.endsWith('.jsonl'));
  const bytes = bytesOf(files);
  const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
  const importing = (state: string) => [
    ...['env', `HOME=${home}`, process.execPath, tacho, 'import', '--all'],
    ...['--state-dir', join(folder, state)],
  ];
  const bare = cpuSeconds([process.execPath, loop, ...files]);
  const first = cpuSeconds(importing('one'));
  const again = Math.min(...Array.from({ length: 3 }, () => cpuSeconds(importing('one'))));
  const store = bytesOf(filesIn(join(folder, 'one')));
  rmSync(join(folder, 'one'), { recursive: true });
  const memory = await memoryMb(importing('two'));
  const row = (name: string, value: string, ok: boolean, target: string): Row => ({
    ...{ name, value, ok, target, ratio: null },
    reference: `${bare.toFixed(2)} s`,
  });
  const what = `import of ${SESSIONS.toLocaleString('en')} sessions of ${Object.keys(KEPT).length} agents`;
  return [
    {
      ...row(
        `${what}, ${(bytes / 1e9).toFixed(1)} GB, CPU, vs. a bare loop`,
        `${first.toFixed(1)} s`,
        first <= FIRST_S_MOST,
        `≤ ${FIRST_S_MOST} s`,
      ),
      ratio: first / bare,
    },
    row('… memory', `${memory.toFixed(0)} MB`, memory <= MEMORY_MOST_MB, `≤ ${MEMORY_MOST_MB} MB`),
    row(
      '… again with nothing new, CPU',
      `${again.toFixed(2)} s`,
      again <= AGAIN_S_MOST,
      `≤ ${AGAIN_S_MOST} s`,
    ),
    {
      name: '… the whole store, vs. the raw sessions',
      value: `${(store / 1e6).toFixed(0)} MB`,
      reference: `${(bytes / 1e6).toFixed(0)} MB`,
      ratio: store / bytes,
      target: `≤ ${STORE_MOST} ×`,
      ok: store / bytes <= STORE_MOST,
    },
  ];
}
