/** `tacho.yaml`: named targets. Every mistake is told with its line and field. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileError, TachoError } from '../lib/errors.ts';
import type { RunLimits } from '../model/parts.ts';
import type { APPROVE_MODES } from '../model/words.ts';
import { compilePattern } from '../store/redact-patterns.ts';
import type { RetentionPolicy } from '../store/retention.ts';
import {
  amount,
  approve,
  type Check,
  list,
  map,
  number,
  policies,
  targets,
  text,
  textOrList,
  whole,
} from './config-checks.ts';
import { LOG_FIELDS, logOf, type TargetLog } from './config-log.ts';
import { POLICY_FIELDS, policyOf } from './config-retention.ts';

export interface Target extends TargetLog {
  agent: string;
  command: string[] | null;
  model: string | null;
  args: string[];
  env: Record<string, string>;
  cwd: string | null;
  /** Seconds. */
  timeout: number | null;
  approve: (typeof APPROVE_MODES)[number] | null;
  limits: Partial<RunLimits>;
  retries: number | null;
}

export interface Config {
  path: string;
  default_target: string | null;
  targets: Record<string, Target>;
  redact: string[];
  retention: RetentionPolicy[];
}

const ROOT_FIELDS: Record<string, Check> = {
  targets,
  default_target: text,
  redact: list,
  retention: policies,
};
const TARGET_FIELDS: Record<string, Check> = {
  agent: text,
  command: textOrList,
  model: text,
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

type Place = (path: readonly string[]) => number;
/** A field's name, as the YAML reader places it. */
type Key = { value?: unknown; range?: [number, number, number] | null };

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

function limitsOf(fields: Record<string, unknown>): Partial<RunLimits> {
  const given = Object.entries(LIMIT_FIELDS).filter(([, field]) => fields[field] !== undefined);
  return Object.fromEntries(given.map(([limit, field]) => [limit, fields[field] as number]));
}

/** The nearest `tacho.yaml` from `cwd` upwards; null when there is none. */
export function findConfig(cwd: string): string | null {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, 'tacho.yaml');
    if (existsSync(path)) return path;
    if (dirname(folder) === folder) return null;
  }
}

export async function loadConfig(path: string, agents: readonly string[]): Promise<Config> {
  let source: string;
  try {
    source = readFileSync(path, 'utf8');
  } catch (cause) {
    throw fileError(cause, path, 'config');
  }
  const { parseDocument, LineCounter } = await import('../lib/yaml.ts');
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines });
  const wrong = document.errors[0];
  if (wrong !== undefined) {
    const { line, col } = lines.linePos(wrong.pos[0]);
    throw invalid(`${path}:${line}:${col}: ${wrong.message.split('\n')[0]}`);
  }
  const lineOf: Place = (at) => {
    const folder = at.length === 1 ? document.contents : document.getIn(at.slice(0, -1), true);
    const { items = [] } = (folder ?? {}) as { items?: { key?: Key }[] };
    const pair = items.find(({ key }) => String(key?.value) === at.at(-1));
    // An item of a list has no name of its own to stand at.
    const range = pair?.key?.range ?? (document.getIn(at, true) as Key | undefined)?.range;
    return range == null ? 1 : lines.linePos(range[0]).line;
  };
  const fail: Fail = (at, why) => {
    throw invalid(`${path}:${lineOf(at)}: ${at.join('.')} ${why}`);
  };
  let value: unknown;
  try {
    value = document.toJS();
  } catch (cause) {
    // Aliases that stand for more than anybody writes by hand.
    throw invalid(`${path}:1: ${(cause as Error).message}`);
  }
  return configOf(path, value, fail, agents);
}

function configOf(path: string, value: unknown, fail: Fail, agents: readonly string[]): Config {
  if (value === null) return { path, default_target: null, targets: {}, redact: [], retention: [] };
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalid(`${path}:1: must be a map with the field targets`);
  const root = value as Record<string, unknown>;
  check(root, ROOT_FIELDS, [], fail);
  const named = Object.entries((root.targets as Record<string, unknown>) ?? {});
  const all = named.map(([name, item]) => [name, targetOf(name, item, fail, agents)] as const);
  const default_target = (root.default_target as string) ?? null;
  if (default_target !== null && !named.some(([name]) => name === default_target)) {
    fail(
      ['default_target'],
      `names no target; there are ${named.map(([name]) => name).join(', ') || 'none'}`,
    );
  }
  return {
    path,
    default_target,
    targets: Object.fromEntries(all),
    redact: ((root.redact as string[]) ?? []).map((pattern, at) => {
      try {
        compilePattern(pattern);
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
