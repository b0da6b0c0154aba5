/** Values that can be completed, by the option or the name of the argument that takes them. */
import { basename } from 'node:path';
import { AGENT_IDS } from '../../agents/registry.ts';
import { findConfig, loadConfig } from '../../app/config/config.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { own } from '../../lib/own.ts';
import { LIVE_TYPES } from '../../model/live-words.ts';
import {
  CANONICAL_TOOLS,
  EXIT_REASONS,
  IMPORTED_FILE_LABEL,
  IMPORTED_SHA256_LABEL,
} from '../../model/words.ts';
import { USAGE_KEYS } from '../../projections/usage/usage-report.ts';
import { type RecentRun, recentRuns } from '../../store/index/recent-runs.ts';
import { resolveStateDir, stateDirAt } from '../../store/state-dir.ts';
import type { Candidate, Expected } from './words.ts';

interface Around {
  env: NodeJS.ProcessEnv;
  cwd: string;
  state_dir: string | undefined;
}

/** The shell's own completion of paths. */
export const FILES = ':files';
export const FOLDERS = ':folders';

type Source = (around: Around) => Candidate[] | Promise<Candidate[]>;

const plain = (values: Iterable<string>): Candidate[] => [...values].map((value) => ({ value }));
const fixed = (values: Iterable<string>): Source => {
  const candidates = plain(values);
  return () => candidates;
};

const RUNS_SHOWN = 30;
/** Newest runs in which labels, models and projects are looked for. */
const RUNS_READ = 300;

function recent({ env, cwd, state_dir: flag }: Around, most: number): RecentRun[] {
  return recentRuns(stateDirAt(resolveStateDir({ flag, env, cwd })).db, most);
}

const aboutRun = ({ agent, prompt }: RecentRun) => `${agent} ${prompt ?? ''}`.trim();

const runs: Source = (around) => {
  const found = recent(around, RUNS_SHOWN);
  const names = shortRunIds(found.map(({ run_id }) => run_id));
  const ids = found.map((run, at) => ({ value: names[at] as string, about: aboutRun(run) }));
  return ids.length === 0 ? [] : [{ value: 'last', about: 'the newest run' }, ...ids];
};

/** Different for every run. */
const OF_IMPORTS = new Set([IMPORTED_FILE_LABEL, IMPORTED_SHA256_LABEL]);

const labels: Source = (around) =>
  plain(
    new Set(
      recent(around, RUNS_READ).flatMap((run) =>
        Object.entries(run.labels)
          .filter(([name]) => !OF_IMPORTS.has(name))
          .map(([name, value]) => `${name}=${value}`),
      ),
    ),
  );

const models: Source = (around) =>
  plain(new Set(recent(around, RUNS_READ).flatMap(({ model }) => model ?? [])));

/** Names of projects, and the shell's folders. */
const projects: Source = (around) => {
  const paths = new Set(recent(around, RUNS_READ).flatMap(({ project }) => project ?? []));
  const named = [...paths].map((about) => ({ value: basename(about), about }));
  return [...named, { value: FOLDERS }];
};

/** Keys of usage, with the names of labels. */
const keys: Source = (around) => {
  const names = recent(around, RUNS_READ).flatMap((run) => Object.keys(run.labels));
  const labelled = [...new Set(names)].filter((name) => !OF_IMPORTS.has(name));
  return plain([...USAGE_KEYS, ...labelled.map((name) => `label:${name}`)]);
};

const targets: Source = async ({ cwd }) => {
  const path = findConfig(cwd);
  if (path === null) return [];
  const config = await loadConfig(path, AGENT_IDS);
  return Object.entries(config.targets).map(([value, { agent }]) => ({
    value,
    about: agent ?? '',
  }));
};

const files = fixed([FILES]);
const folders = fixed([FOLDERS]);
const agents = fixed(AGENT_IDS);

const OPTIONS: Readonly<Record<string, Source>> = {
  '--agent': agents,
  '--label': labels,
  '--model': models,
  '--project': projects,
  '--run': runs,
  '--status': fixed(['ok', 'failed', ...EXIT_REASONS.filter((reason) => reason !== 'ok')]),
  '--target': targets,
  '--tool': fixed(CANONICAL_TOOLS),
  '--type': fixed(LIVE_TYPES),
};

const NAMES: Readonly<Record<string, Source>> = {
  agent: agents,
  archive: files,
  dir: folders,
  file: files,
  files,
  keys,
  path: files,
  program: files,
  run: runs,
  runs,
};

export function valuesOf({ choices, option, name }: NonNullable<Expected['value']>): Source {
  if (choices !== null) return fixed(choices);
  const source = own(OPTIONS, option ?? '') ?? own(NAMES, name);
  return source ?? (() => []);
}
