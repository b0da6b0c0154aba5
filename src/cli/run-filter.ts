/** The flags that choose runs, the same for every command that lists them. */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { readTime, TIME_LIKE, type TimeSpan } from '../lib/read-time.ts';
import type { RunQuery } from '../store/index/runs-table.ts';
import type { StateDir } from '../store/state-dir.ts';

/** The given text with its meaning. */
type NamedTime = TimeSpan & { text: string };
type LabelFilter = NonNullable<RunQuery['labels']>[number];

export interface RunFilterFlags {
  agent?: string;
  status?: string;
  since?: NamedTime;
  until?: NamedTime;
  project?: string;
  here?: true;
  label?: LabelFilter[];
  model?: string;
}

/** A day, or a moment, in local time. */
export function timeArgument(text: string): NamedTime {
  const span = readTime(text, Date.now());
  if (span === null) throw new InvalidArgumentError(`Give ${TIME_LIKE}.`);
  return { ...span, text };
}

function labelArgument(text: string, before: LabelFilter[] = []): LabelFilter[] {
  const [, name = '', value] = /^([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === '') throw new InvalidArgumentError('Give name or name=value.');
  return [...before, { name, value: value ?? null }];
}

export const HERE_FLAG = ['--here', 'only runs of the current project'] as const;
export const PROJECT_FLAG = [
  '--project <name>',
  'only runs of this project: its name in the list, or a folder of it',
] as const;
export const LABEL_FLAG = [
  '--label <name[=value]>',
  'only runs with this label (repeatable)',
  labelArgument,
] as const;

/** `timed`, `of_model`: the subjects of the times and of the model. */
export function withRunFilters(
  command: Command,
  { timed = 'runs started', of_model = 'runs' } = {},
): Command {
  return command
    .option(
      '--since <time>',
      `only ${timed} since then: 2026-11-01, 12h, 2d, yesterday`,
      timeArgument,
    )
    .option('--until <time>', `only ${timed} until then; a day counts to its end`, timeArgument)
    .option(...HERE_FLAG)
    .option(...PROJECT_FLAG)
    .option('--agent <id>', 'only runs of this agent')
    .option('--model <name>', `only ${of_model} of models with this text in their names`)
    .option(...LABEL_FLAG)
    .option('--status <status>', 'only runs with this status: ok, failed, or an exit reason');
}

/** Throws for an unknown agent or status, whatever the store contains, and for an unknown project. */
export async function runQuery(state: StateDir | null, flags: RunFilterFlags): Promise<RunQuery> {
  const { agent, status, since, until, label, model } = flags;
  await checkNames(flags);
  const project = await projectPath(state, flags);
  return {
    ...(agent !== undefined && { agent }),
    ...(status !== undefined && { status }),
    ...(since !== undefined && { since_ms: since.from_ms }),
    ...(until !== undefined && { until_ms: until.to_ms }),
    ...(project !== null && { project }),
    ...(label !== undefined && { labels: label }),
    ...(model !== undefined && { model }),
  };
}

/** The filters as they were given, for messages. Empty if there are none. */
export function filterText(flags: RunFilterFlags): string {
  const labels = flags.label?.map(({ name, value }) =>
    value === null ? name : `${name}=${value}`,
  );
  const given: [string, string | undefined][] = [
    ['--since', flags.since?.text],
    ['--until', flags.until?.text],
    ['--here', flags.here && ''],
    ['--project', flags.project],
    ['--agent', flags.agent],
    ['--model', flags.model],
    ...(labels ?? []).map((label): [string, string] => ['--label', label]),
    ['--status', flags.status],
  ];
  return given
    .filter(([, value]) => value !== undefined)
    .map(([flag, value]) => `${flag} ${value}`.trim())
    .join(' ');
}

/** Throws for an unknown agent or status. */
async function checkNames(flags: Pick<RunFilterFlags, 'agent' | 'status'>): Promise<void> {
  if (flags.agent === undefined && flags.status === undefined) return;
  const { checkNames: check } = await import('../app/runs/query.ts');
  check(flags);
}

/** Null without such a flag. */
export async function projectPath(
  state: StateDir | null,
  { project, here }: Pick<RunFilterFlags, 'project' | 'here'>,
): Promise<string | null> {
  if (project === undefined && !here) return null;
  const { findProject } = await import('../app/runs/projects.ts');
  const { TachoError } = await import('../lib/errors.ts');
  if (project !== undefined && here)
    throw new TachoError('usage', 'give --here or --project, not both', { stage: 'request' });
  return findProject(state, project ?? process.cwd());
}
