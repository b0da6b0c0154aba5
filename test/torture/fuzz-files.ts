/** Mutated state files, configurations and eval files: damage is reported, and everything else is intact. */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { AGENT_IDS } from '../../src/agents/registry.ts';
import { loadConfig } from '../../src/app/config/config.ts';
import { recoverAll } from '../../src/app/run/recover.ts';
import { reindex } from '../../src/app/runs/reindex.ts';
import { restore } from '../../src/app/runs/restore.ts';
import { verifyRun } from '../../src/app/runs/verify.ts';
import { parseEvalFile } from '../../src/evals/files/eval-file.ts';
import { TachoError } from '../../src/lib/errors.ts';
import { openIndex } from '../../src/store/index/index-db.ts';
import { openOutbox, outboxPath, takeOutbox } from '../../src/store/outbox/outbox.ts';
import { type StateDir, stateDirAt } from '../../src/store/state-dir.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import { liveTarget } from './fuzz-live.ts';
import type { FuzzInput, FuzzTarget } from './fuzz-target.ts';
import { BYTE_CHANGES, mutate, mutateText } from './mutate.ts';
import type { Random } from './random.ts';
import { bodiesOf } from './store-checks.ts';

const BIN = join(import.meta.dirname, '../..', 'bin/tacho.cjs');

/** Runs the work; a TachoError is an answer, everything else is a fault. Null when there is no result. */
async function answered<T>(faults: string[], name: string, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TachoError)) faults.push(`${name} throws ${(error as Error).stack}`);
    return null;
  }
}

interface Template {
  folder: string;
  state: StateDir;
  /** A run with damaged files, and one that must not change. */
  victim: string;
  neighbour: string;
  /** The files to damage. */
  segment: string;
  archive: string;
  meta: string;
  /** The journal entries of each run. */
  bodies: Map<string, string[]>;
}

async function makeTemplate(folder: string): Promise<Template> {
  const state = stateDirAt(join(folder, 'case'));
  const env = { ...process.env, HOME: folder, TACHO_HOME: state.path };
  const tacho = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`tacho ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const record = () => {
    const [line = ''] = tacho(
      'run',
      ...CHAOS,
      '--output',
      'json',
      'x',
      '--',
      ...played('fixed'),
    ).split('\n');
    return JSON.parse(line).run_id as string;
  };
  const [archived, victim, neighbour] = [record(), record(), record()];
  const bodies = new Map<string, string[]>();
  for (const run_id of [archived, victim, neighbour])
    bodies.set(run_id, await bodiesOf(state.path, run_id));
  const segments = readdirSync(state.journal).filter((name) => /^0.*\.jsonl$/.test(name));
  const segment = segments.find((name) =>
    readFileSync(join(state.journal, name), 'utf8').includes(victim),
  );
  tacho('runs', 'gc', '--max-runs', '2');
  await killedRun(folder, state, env);
  const [spool = ''] = readdirSync(state.spool);
  const [archive = ''] = readdirSync(state.archive);
  cpSync(state.path, join(folder, 'template'), { recursive: true });
  return {
    ...{ folder, state, victim, neighbour, bodies },
    segment: join(state.journal, segment ?? ''),
    archive: join(state.archive, archive),
    meta: join(state.spool, spool, 'meta.json'),
  };
}

/** Leaves the spool of a run that was killed together with its agent. */
async function killedRun(folder: string, state: StateDir, env: NodeJS.ProcessEnv): Promise<void> {
  const script = join(folder, 'hang.yaml');
  writeFileSync(script, 'steps:\n  - say: before\n  - hang: true\n');
  const args = [BIN, 'run', ...CHAOS, 'x', '--', ...played(script)];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' });
  const metaOf = () => {
    try {
      const [name = ''] = readdirSync(state.spool);
      const { agent } = JSON.parse(readFileSync(join(state.spool, name, 'meta.json'), 'utf8'));
      const said = readFileSync(join(state.spool, name, 'stdout'), 'utf8').includes('before');
      return said ? (agent?.pid as number | undefined) : undefined;
    } catch {
      return undefined;
    }
  };
  let pid: number | undefined;
  for (let waited = 0; waited < 3000 && pid === undefined; waited++) {
    await sleep(10);
    pid = metaOf();
  }
  child.kill('SIGKILL');
  if (pid === undefined) throw new Error('the agent of the run to kill did not start');
  process.kill(pid, 'SIGKILL');
  await sleep(100);
}

/** Restores the template, with one file replaced by these bytes. */
function damaged({ folder, state }: Template, path: string, bytes: Buffer): void {
  rmSync(state.path, { recursive: true, force: true });
  cpSync(join(folder, 'template'), state.path, { recursive: true });
  writeFileSync(path, bytes);
}

/** A run is unchanged, or `verify` reports that it is not. */
async function runFaults(template: Template, run_id: string, harmed: boolean): Promise<string[]> {
  const faults: string[] = [];
  const { state, bodies } = template;
  const now = await answered(faults, 'reading the journal', () => bodiesOf(state.path, run_id));
  const same = now?.join('\n') === bodies.get(run_id)?.join('\n');
  const verified = await answered(faults, 'verify', () => verifyRun(state, run_id));
  if (harmed && verified?.ok && !same) faults.push('verify does not notice a changed run');
  if (!harmed && !same) faults.push('another run has changed');
  if (!harmed && !verified?.ok) faults.push(`another run: ${verified?.faults.join('; ')}`);
  return faults;
}

function listed(state: StateDir): string[] {
  const index = openIndex(state);
  try {
    return [...index.listRuns()].map(({ run_id }) => run_id);
  } finally {
    index.close();
  }
}

async function journalFaults(template: Template, bytes: Buffer): Promise<string[]> {
  const { state, victim, neighbour, segment } = template;
  damaged(template, segment, bytes);
  const faults = await runFaults(template, victim, true);
  faults.push(...(await runFaults(template, neighbour, false)));
  await answered(faults, 'reindex', () => reindex(state));
  if (!listed(state).includes(neighbour)) faults.push('another run is not listed after reindex');
  faults.push(...(await runFaults(template, neighbour, false)));
  return faults;
}

async function archiveFaults(template: Template, bytes: Buffer): Promise<string[]> {
  const { state, neighbour, archive, bodies } = template;
  damaged(template, archive, bytes);
  const faults: string[] = [];
  await answered(faults, 'restore', () => restore(state, archive, { runs: [] }));
  for (const run_id of listed(state))
    if (bodies.has(run_id))
      faults.push(...(await runFaults(template, run_id, run_id !== neighbour)));
  faults.push(...(await runFaults(template, neighbour, false)));
  return faults;
}

async function metaFaults(template: Template, bytes: Buffer): Promise<string[]> {
  const { state, neighbour, meta } = template;
  damaged(template, meta, bytes);
  const faults: string[] = [];
  await answered(faults, 'recover', async () => {
    for await (const recovery of recoverAll(state, { wait: false }))
      if (recovery.state === 'unreadable' && /\n\s+at /.test(recovery.why))
        faults.push(`recover shows a stack trace: ${recovery.why}`);
  });
  faults.push(...(await runFaults(template, neighbour, false)));
  return faults;
}

const recompressed = (bytes: Buffer, random: Random) => {
  const text = zstdDecompressSync(bytes);
  return Buffer.from(zstdCompressSync(mutate(text, random, text)));
};

function stateTarget(template: Template): FuzzTarget {
  const read = (path: string) => readFileSync(path.replace('/case/', '/template/'));
  const [segment, archive, meta] = [template.segment, template.archive, template.meta].map(
    read,
  ) as [Buffer, Buffer, Buffer];
  const inputs: readonly ((random: Random) => FuzzInput)[] = [
    (random) => ({
      about: 'journal',
      bytes: random.is(0.5) ? flipped(segment, random) : mutate(segment, random, segment),
      check: (bytes) => journalFaults(template, bytes),
    }),
    (random) => ({
      about: 'archive',
      bytes: random.is(0.5) ? flipped(archive, random) : recompressed(archive, random),
      check: (bytes) => archiveFaults(template, bytes),
    }),
    (random) => ({
      about: 'meta',
      bytes: mutate(meta, random, meta),
      check: (bytes) => metaFaults(template, bytes),
    }),
  ];
  return { name: 'state', make: (random) => random.pick(inputs)(random), close: async () => {} };
}

const flipped = (bytes: Buffer, random: Random) => random.pick(BYTE_CHANGES)(bytes, random, bytes);

function outboxTarget(folder: string): FuzzTarget {
  const target = { url: 'unix:/nowhere', token_file: null, ca: null };
  const made = openOutbox(folder, { session_id: 's', ...target });
  if (made === null) throw new Error('no outbox');
  for (let seq = 1; seq <= 12; seq++)
    made.append([{ event: seq, seq, type: 'text_delta', text: JSON.stringify({ seq }) }]);
  made.close(3);
  const path = outboxPath(folder, 's');
  const whole = readFileSync(path);
  async function check(bytes: Buffer): Promise<string[]> {
    const faults: string[] = [];
    writeFileSync(path, bytes, { mode: 0o600 });
    await answered(faults, 'the outbox', async () => {
      const outbox = takeOutbox(path);
      if (outbox === null) return;
      let next: number | null = null;
      for (let from = outbox.first_seq; ; ) {
        const some = await outbox.read(from);
        if (some.length === 0) break;
        for (const { seq } of some) {
          if (next !== null && seq !== next) faults.push(`message ${seq} follows ${next - 1}`);
          next = seq + 1;
        }
        from = (some.at(-1)?.seq ?? from) + 1;
      }
      outbox.close();
    });
    for (const name of readdirSync(folder))
      if (name.includes('.lock.')) faults.push(`left behind: ${name}`);
    return faults;
  }
  const make = (random: Random): FuzzInput => ({
    about: 'outbox',
    bytes: random.is(0.5) ? flipped(whole, random) : mutate(whole, random, whole),
    check,
  });
  return { name: 'outbox', make, close: async () => {} };
}

const CONFIG = `default_target: fast
targets:
  fast: { agent: demo, args: [--speed, "0"], env: { A: b }, timeout: 30, approve: edits, retries: 2 }
  other:
    agent: claude
    command: [claude, --verbose]
    model: some-model
    cwd: sub
    max_cost: 1.5
    max_tokens: 1000
    loop_guard: 3
    stream_log: true
redact: ["TOKEN-[a-z]{4,20}", '\\\\d{3}-\\\\d{2}']
retention:
  - { name: old, agent: demo, max_age: 30d, keep_failed: true }
  - { max_runs: 10, archive: false }
`;

const EVALS = `description: all kinds
name: all
threshold: 0.8
input: &in Write a script
tests:
  - id: one
    input: *in
    repeat: { count: 3, strategy: any }
    assertions:
      - { type: tool-trajectory, mode: in_order, expected: [{ tool: Bash, status: error }, { tool: Edit }] }
      - { type: contains, value: Done }
      - { type: regex, value: "^a+b", flags: i }
      - { type: execution-metrics, max_tool_calls: 20, max_cost_usd: 0.10 }
      - { type: skill-trigger, skill: greeting, should_trigger: false }
      - { type: code-grader, command: [node, grade.mjs], timeout_seconds: 5 }
      - { type: llm-grader, criteria: good, api: openai, model: m }
      - { type: composite, aggregator: { type: weighted }, assertions: [{ type: is-json, weight: 2 }] }
  - { id: two, input: [{ role: user, content: hi }], assertions: [{ type: equals, value: x, negate: true }] }
`;

const FOLDERS = {
  open: () => null,
  folder: (_: string, name: string | undefined) => name ?? '/evals',
};

function yamlTarget(folder: string): FuzzTarget {
  const path = join(folder, 'tacho.yaml');
  const readers: readonly [string, string, (bytes: Buffer) => Promise<unknown>][] = [
    [
      'tacho.yaml',
      CONFIG,
      (bytes) => {
        writeFileSync(path, bytes, { mode: 0o600 });
        return loadConfig(path, AGENT_IDS);
      },
    ],
    [
      'eval file',
      EVALS,
      (bytes) => parseEvalFile('evals/a.yaml', bytes.toString('utf8'), FOLDERS, {}),
    ],
  ];
  return {
    name: 'yaml',
    make(random) {
      const [about, text, read] = random.pick(readers);
      return {
        about,
        bytes: mutateText(Buffer.from(text), random),
        async check(bytes) {
          const faults: string[] = [];
          await answered(faults, about, () => read(bytes));
          return faults;
        },
      };
    },
    close: async () => {},
  };
}

export async function fileTargets(): Promise<FuzzTarget[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tacho-fuzz-')));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  process.env.HOME = folder;
  for (const name of ['outbox', 'yaml']) mkdirSync(join(folder, name), { mode: 0o700 });
  return [
    stateTarget(await makeTemplate(folder)),
    outboxTarget(join(folder, 'outbox')),
    yamlTarget(join(folder, 'yaml')),
    await liveTarget(join(folder, 'live')),
  ];
}
