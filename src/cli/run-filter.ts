/** The flags that choose runs, the same for every command that lists them. */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { readTime, TIME_LIKE, type TimeSpan } from '../lib/read-time.ts';
import type { RunQuery } from '../store/index/runs-table.ts';

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

export function withRunFilters(command: Command): Command {
  return command
    .option(
      '--since <time>',
      'only runs started since then: 2026-11-01, 12h, 2d, yesterday',
      timeArgument,
    )
    .option('--until <time>', 'only runs started until then; a day counts to its end', timeArgument)
    .option('--here', 'only runs of the current project')
    .option('--project <path>', 'only runs of the project that this folder belongs to')
    .option('--agent <id>', 'only runs of this agent')
    .option('--model <name>', 'only runs of models with this text in their names')
    .option('--label <name[=value]>', 'only runs with this label (repeatable)', labelArgument)
    .option('--status <status>', 'only runs with this status: ok, failed, or an exit reason');
}

/** Throws for an unknown agent or status, whatever the store contains. */
export async function runQuery(flags: RunFilterFlags): Promise<RunQuery> {
  const { agent, status, since, until, label, model } = flags;
  await checkNames(flags);
  const project = await projectPath(flags);
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

async function projectPath({ project, here }: RunFilterFlags): Promise<string | null> {
  if (project === undefined && !here) return null;
  const { projectOf } = await import('../capture/source/project.ts');
  const { TachoError } = await import('../lib/errors.ts');
  if (project !== undefined && here)
    throw new TachoError('usage', 'give --here or --project, not both', { stage: 'request' });
  return projectOf(project ?? process.cwd()).path;
}
