/** `npm run rehearse -- --watch`: sets up the room, enters the sandbox, judges. */
import { chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { INSIDE, type Rehearsed } from '../agents/agent.ts';
import type { Installed } from '../install.ts';
import type { Result } from '../matrix.ts';
import { enter, INSIDE_UID } from '../sandbox.ts';
import type { Job, Report } from './inside.ts';
import { judgeSession } from './judge.ts';

/** The scenarios, as they are named in the results. */
export const WATCHED = ['watched', 'watched-killed'] as const;

const LIMIT_MS = 20 * 60_000;
/** Agents that are used at the same time. */
const PARALLEL = 3;
/** The least number of times that the watcher is killed. */
const KILLS = 100;

export interface WatchRehearsal {
  installed: readonly { agent: Rehearsed; at: Installed }[];
  project: string;
  keep: boolean;
  stop: AbortSignal;
}

export interface Watched {
  results: Result[];
  /** Figures, for people. */
  figures: string;
}

export async function rehearseWatch(rehearsal: WatchRehearsal): Promise<Watched | string> {
  const { installed, project, keep, stop } = rehearsal;
  const room = await mkdtemp(join(tmpdir(), 'tacho-rehearsal-'));
  try {
    await furnish(room, {
      agents: installed.map(({ agent }) => agent.id),
      parallel: PARALLEL,
      kills: KILLS,
    });
    const roots = installed.map(({ at }) => at.root);
    const left = await enter(
      {
        project,
        cli: dirname(roots[0] ?? ''),
        program: installed.map(({ at }) => `${basename(at.root)}/${at.program}`).join('\n'),
        room,
        hide: installed.flatMap(({ agent }) => agent.machine_settings),
        limit_ms: LIMIT_MS,
        stop,
      },
      [`${INSIDE.bin}/node`, `${INSIDE.project}/rehearsal/watch/inside.ts`],
    );
    if (left.code !== 0) return `the sandbox exited with ${left.code}: ${left.stderr}`;
    const report = JSON.parse(await readFile(join(room, 'report.json'), 'utf8')) as Report;
    return watched(report, rehearsal, keep ? room : null);
  } finally {
    if (!keep) await rm(room, { recursive: true, force: true });
  }
}

async function furnish(room: string, job: Job): Promise<void> {
  for (const folder of ['home', 'work', 'out', 'tmp']) await mkdir(join(room, folder));
  await writeFile(join(room, 'job.json'), JSON.stringify(job));
  if (process.getuid?.() !== 0) return;
  await chown(room, INSIDE_UID, INSIDE_UID);
  for (const path of await readdir(room)) await chown(join(room, path), INSIDE_UID, INSIDE_UID);
}

function watched(report: Report, { installed }: WatchRehearsal, room: string | null): Watched {
  const results = report.sessions.map((session): Result => {
    const agent = installed.find(({ agent }) => agent.id === session.agent)?.agent;
    const own = session.runs.map(({ run_id }) => run_id);
    const reasons = [
      ...judgeSession(session),
      ...report.differences.filter((text) => own.some((id) => text.includes(id))),
      ...report.died,
    ];
    return {
      agent: session.agent,
      version: agent?.package.version ?? '',
      scenario: session.name,
      outcome: reasons.length === 0 ? 'passed' : 'failed',
      reasons,
      duration_ms: session.duration_ms,
      room: null,
    };
  });
  const delays = report.sessions.flatMap(({ agent, delay_ms }) =>
    delay_ms === null ? [] : [`${agent} ${delay_ms}`],
  );
  const lines = [
    `first record to line of the watcher, in ms: ${delays.join(', ')}`,
    `the watcher was killed ${report.kills} times; ${report.differences.length} differences from a fresh import`,
    ...report.died,
    ...report.differences.filter((text) => !results.some(({ reasons }) => reasons.includes(text))),
    ...(room === null ? [] : [`kept in ${room}`]),
  ];
  return { results, figures: `${lines.join('\n')}\n` };
}
