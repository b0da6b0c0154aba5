/** One scenario with one agent: sets up a room, enters the sandbox, collects the results. */
import { chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { INSIDE, type Rehearsed } from './agents/agent.ts';
import type { Job, Report } from './inside.ts';
import type { Installed } from './install.ts';
import { enter, INSIDE_UID } from './sandbox.ts';
import type { Scenario } from './scenarios.ts';
import type { Logged } from './server/main.ts';
import { fill, type Step, type Turn } from './server/scenario.ts';

/** Time limit for a scenario; the slowest seen took 15 s on a busy machine. */
const LIMIT_MS = 90_000;
const SANDBOX_LIMIT_MS = 240_000;

export interface Observed {
  report: Report;
  stdout: Buffer;
  stderr: string;
  /** Output of `tacho replay`; empty if there was no run. */
  replay: Buffer;
  /** The internal events, one per line. */
  events: string;
  requests: Logged[];
  /** Files of the work folder that the scenario names. */
  files: Record<string, string | null>;
}

export interface Rehearsal {
  agent: Rehearsed;
  scenario: Scenario;
  installed: Installed;
  project: string;
  keep: boolean;
  stop: AbortSignal;
}

/** `observed` is a message if nothing could be observed. `room` exists afterwards only if it was to be kept. */
export async function rehearse(
  rehearsal: Rehearsal,
): Promise<{ observed: Observed | string; room: string }> {
  const { agent, installed, project } = rehearsal;
  const room = await mkdtemp(join(tmpdir(), 'tacho-rehearsal-'));
  try {
    await furnish(room, rehearsal);
    const left = await enter(
      {
        project,
        cli: installed.root,
        program: installed.program,
        room,
        hide: agent.machine_settings,
        limit_ms: SANDBOX_LIMIT_MS,
        stop: rehearsal.stop,
      },
      [`${INSIDE.bin}/node`, `${INSIDE.project}/rehearsal/inside.ts`],
    );
    if (left.code !== 0) {
      const how = left.code === null ? 'was killed' : `exited with ${left.code}`;
      return { observed: `the sandbox ${how}: ${left.stderr}`, room };
    }
    return { observed: await collect(room, rehearsal.scenario), room };
  } finally {
    if (!rehearsal.keep) await rm(room, { recursive: true, force: true });
  }
}

function turnFor(agent: Rehearsed, turn: Turn): Turn {
  if ('error' in turn) return turn;
  return turn.map((step): Step => ('tool' in step ? agent.native(step) : step));
}

function jobFor({ agent, scenario }: Rehearsal, args: readonly string[]): Job {
  const turns = (list: readonly Turn[]) => list.map((turn) => turnFor(agent, turn));
  const { script, prompt_by, timeout_s } = scenario;
  const agents = (script.agents ?? []).map(({ match, turns: own }) => ({
    match,
    turns: turns(own),
  }));
  const options = ['--agent', agent.id, '--output', 'json', '--approve', scenario.approve];
  const limit = timeout_s === undefined ? [] : ['--timeout', String(timeout_s)];
  const events = ['--events', `${INSIDE.out}/events.jsonl`];
  const prompt = prompt_by === 'stdin' ? '-' : scenario.prompt;
  const passed = args.length === 0 ? [] : ['--', ...args];
  const { approve, talk = null } = scenario;
  return {
    dialect: agent.dialect,
    script: fill({ ...script, turns: turns(script.turns), agents }, { WORK: INSIDE.work }),
    tacho_args: ['run', ...options, ...limit, ...events, prompt, ...passed],
    stdin: prompt_by === 'stdin' ? scenario.prompt : null,
    talk: talk && { agent: agent.id, prompt: scenario.prompt, approve, args, talk },
    env: {
      HOME: INSIDE.home,
      LANG: 'C.UTF-8',
      PATH: `${INSIDE.bin}:/usr/local/bin:/usr/bin:/bin`,
      SHELL: '/bin/bash',
      TERM: 'dumb',
      TZ: 'UTC',
      TACHO_HOME: INSIDE.state,
      ...agent.env,
    },
    act: scenario.act ?? null,
    call_shown: agent.reports_calls_late !== true,
    limit_ms: LIMIT_MS,
  };
}

async function furnish(room: string, rehearsal: Rehearsal): Promise<void> {
  const { agent, scenario } = rehearsal;
  const set = scenario.needs ? agent.setUp(scenario.needs) : { files: {}, args: [] };
  const args = [...(agent.args ?? []), ...set.args];
  for (const folder of ['home', 'work', 'out', 'tmp']) await mkdir(join(room, folder));
  await writeFiles(join(room, 'home'), agent.home ?? {});
  await writeFiles(join(room, 'work'), { ...scenario.files, ...set.files });
  await writeFile(join(room, 'job.json'), JSON.stringify(jobFor(rehearsal, args)));
  if (process.getuid?.() !== 0) return;
  await chown(room, INSIDE_UID, INSIDE_UID);
  for (const path of await readdir(room, { recursive: true })) {
    await chown(join(room, path), INSIDE_UID, INSIDE_UID);
  }
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

async function collect(room: string, scenario: Scenario): Promise<Observed> {
  const bytes = (name: string) =>
    readFile(join(room, 'out', name)).catch(() => Buffer.alloc(0) as Buffer);
  const text = async (name: string) => (await bytes(name)).toString('utf8');
  const files: Observed['files'] = {};
  for (const path of Object.keys(scenario.expect.files ?? {})) {
    files[path] = await readFile(join(room, 'work', path), 'utf8').catch(() => null);
  }
  const logged = (await text('requests.jsonl')).split('\n').filter((line) => line !== '');
  return {
    report: JSON.parse(await readFile(join(room, 'report.json'), 'utf8')) as Report,
    stdout: await bytes('stdout'),
    stderr: await text('stdout.err'),
    replay: await bytes('replay'),
    events: await text('events.jsonl'),
    requests: logged.map((line) => JSON.parse(line) as Logged),
    files,
  };
}
