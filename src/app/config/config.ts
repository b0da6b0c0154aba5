/** `tacho.yaml`: named targets. Every mistake is told with its line and field. */
import { dirname, resolve } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { readTextFile, type TextFile } from '../../lib/text-file.ts';
import type { RunLimits } from '../../model/parts.ts';
import type { APPROVE_MODES } from '../../model/words.ts';
import { compilePatterns } from '../../redact/patterns.ts';
import type { RetentionPolicy } from '../../store/journal/retention.ts';
import { hashOf } from '../../store/user-state.ts';
import {
  amount,
  approve,
  type Check,
  list,
  map,
  model,
  number,
  policies,
  targets,
  text,
  textOrList,
  whole,
} from './checks.ts';
import { linked, notRead, writableByOthers } from './find-config.ts';
import { LOG_FIELDS, logOf, type TargetLog } from './log.ts';
import { outsideProject } from './project.ts';
import { POLICY_FIELDS, policyOf } from './retention.ts';

export { findConfig } from './find-config.ts';

export interface Target extends TargetLog {
  agent: string;
  /** A program with a slash is an absolute path. */
  command: string[] | null;
  model: string | null;
  args: string[];
  env: Record<string, string>;
  /** Absolute. */
  cwd: string | null;
  /** Seconds. */
  timeout: number | null;
  approve: (typeof APPROVE_MODES)[number] | null;
  limits: Partial<RunLimits>;
  retries: number | null;
}

export interface Config {
  path: string;
  /** Of the file's bytes. */
  sha256: string;
  default_target: string | null;
  targets: Record<string, Target>;
  redact: string[];
  retention: RetentionPolicy[];
}

const patterns: Check = (value) =>
  list(value) ??
  ((value as string[]).length > LIMITS.redaction_patterns_max
    ? `has more than ${LIMITS.redaction_patterns_max} patterns`
    : null);

const ROOT_FIELDS: Record<string, Check> = {
  targets,
  default_target: text,
  redact: patterns,
  retention: policies,
};
const TARGET_FIELDS: Record<string, Check> = {
  agent: text,
  command: textOrList,
  model,
  args: list,
  env: map,
  cwd: text,
  timeout: number,
  approve,
  max_cost: amount,
  max_tokens: whole(1),
  max_tool_calls: whole(0),
  max_steps: whole(1),
  loop_guard: whole(2),
  retries: whole(0),
  ...LOG_FIELDS,
};

/** A target's field for each limit. */
const LIMIT_FIELDS: Record<keyof RunLimits, string> = {
  cost_usd: 'max_cost',
  tokens: 'max_tokens',
  tool_calls: 'max_tool_calls',
  steps: 'max_steps',
  same_calls: 'loop_guard',
};

function check(
  value: Record<string, unknown>,
  fields: Record<string, Check>,
  at: string[],
  fail: Fail,
): void {
  for (const [key, item] of Object.entries(value)) {
    const rule = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (rule === undefined)
      fail([...at, key], `is no known field; known are ${Object.keys(fields).join(', ')}`);
    const wrong = rule?.(item);
    if (wrong) fail([...at, key], wrong);
  }
}

type Fail = (path: string[], why: string) => never;

function targetOf(name: string, value: unknown, fail: Fail, known: readonly string[]): Target {
  const at = ['targets', name];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    fail(at, 'must be a map');
  const fields = value as Record<string, unknown>;
  check(fields, TARGET_FIELDS, at, fail);
  if (fields.agent === undefined) fail(at, 'lacks the field agent');
  const agent = fields.agent as string;
  if (!known.includes(agent))
    fail([...at, 'agent'], `unknown agent "${agent}"; known are ${known.join(', ')}`);
  const command = fields.command as string | string[] | undefined;
  const env = Object.entries((fields.env as Record<string, unknown>) ?? {}).map(([key, item]) => [
    key,
    String(item),
  ]);
  return {
    agent,
    command: command === undefined ? null : typeof command === 'string' ? [command] : command,
    model: (fields.model as string) ?? null,
    args: (fields.args as string[]) ?? [],
    env: Object.fromEntries(env) as Record<string, string>,
    cwd: (fields.cwd as string) ?? null,
    timeout: (fields.timeout as number) ?? null,
    approve: (fields.approve as Target['approve']) ?? null,
    limits: limitsOf(fields),
    retries: (fields.retries as number) ?? null,
    ...logOf(fields, at, fail),
  };
}

/** Paths are those of the file's folder: the folder that the agent works in may be foreign, and chooses no program. */
function placed(target: Target, folder: string): Target {
  const { agent, command, args, cwd } = target;
  const withPath = ([program = '', ...rest]: string[]) => [
    program.includes('/') ? resolve(folder, program) : program,
    ...rest,
  ];
  // Without a command, the program of an ACP agent is the first argument.
  const in_args = agent === 'acp' && command === null && args.length > 0;
  return {
    ...target,
    command: command === null ? null : withPath(command),
    args: in_args ? withPath(args) : args,
    cwd: cwd === null ? null : resolve(folder, cwd),
  };
}

function limitsOf(fields: Record<string, unknown>): Partial<RunLimits> {
  const given = Object.entries(LIMIT_FIELDS).filter(([, field]) => fields[field] !== undefined);
  return Object.fromEntries(given.map(([limit, field]) => [limit, fields[field] as number]));
}

/** One that is there and cannot be read, such as a link to nowhere, is a mistake of the configuration. */
function readConfig(path: string): TextFile {
  try {
    return readTextFile(path, { bytes_max: LIMITS.config_bytes_max, stage: 'config' });
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

export async function loadConfig(path: string, agents: readonly string[]): Promise<Config> {
  const { text: source, bytes, stat } = readConfig(path);
  // A message about a mistake would quote it.
  if (outsideProject(path)(path)) throw linked(path);
  const why = writableByOthers(stat);
  if (why !== null) throw notRead(path, why);
  const { readYamlText } = await import('../../lib/yaml.ts');
  const { fault, value, placeOf } = readYamlText(source);
  if (fault !== null) throw invalid(`${path}:${fault.line}:${fault.col}: ${fault.message}`);
  const fail: Fail = (at, say) => {
    throw invalid(`${path}:${placeOf(at).line}: ${at.join('.')} ${say}`);
  };
  let given: unknown;
  try {
    given = value();
  } catch (cause) {
    // A merge of what is no map, by a tag.
    throw invalid(`${path}:1: ${(cause as Error).message}`);
  }
  return configOf({ path, sha256: hashOf(bytes) }, given, fail, agents);
}

function configOf(
  file: Pick<Config, 'path' | 'sha256'>,
  value: unknown,
  fail: Fail,
  agents: readonly string[],
): Config {
  const { path } = file;
  if (value === null)
    return { ...file, default_target: null, targets: {}, redact: [], retention: [] };
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalid(`${path}:1: must be a map with the field targets`);
  const root = value as Record<string, unknown>;
  check(root, ROOT_FIELDS, [], fail);
  const named = Object.entries((root.targets as Record<string, unknown>) ?? {});
  const all = named.map(
    ([name, item]) => [name, placed(targetOf(name, item, fail, agents), dirname(path))] as const,
  );
  const default_target = (root.default_target as string) ?? null;
  if (default_target !== null && !named.some(([name]) => name === default_target)) {
    fail(
      ['default_target'],
      `names no target; there are ${named.map(([name]) => name).join(', ') || 'none'}`,
    );
  }
  return {
    ...file,
    default_target,
    targets: Object.fromEntries(all),
    redact: ((root.redact as string[]) ?? []).map((pattern, at, all) => {
      try {
        compilePatterns(all.slice(0, at + 1));
        return pattern;
      } catch (error) {
        return fail(['redact', String(at)], (error as Error).message);
      }
    }),
    retention: ((root.retention as unknown[]) ?? []).map((item, at) => {
      const place = ['retention', String(at)];
      if (typeof item !== 'object' || item === null || Array.isArray(item))
        fail(place, 'must be a map');
      const fields = item as Record<string, unknown>;
      check(fields, POLICY_FIELDS, place, fail);
      const policy = policyOf(fields, at);
      return policy ?? fail(place, 'needs one of max_age, max_runs, max_size');
    }),
  };
}

const invalid = (say: string) => new TachoError('config_invalid', say, { stage: 'config' });
