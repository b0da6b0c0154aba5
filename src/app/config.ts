/** `tacho.yaml`: named targets. Every mistake is told with its line and field. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileError, TachoError } from '../lib/errors.ts';
import { APPROVE_MODES } from '../model/words.ts';

export interface Target {
  agent: string;
  command: string[] | null;
  model: string | null;
  args: string[];
  env: Record<string, string>;
  cwd: string | null;
  /** Seconds. */
  timeout: number | null;
  approve: (typeof APPROVE_MODES)[number] | null;
}

export interface Config {
  path: string;
  default_target: string | null;
  targets: Record<string, Target>;
  redact: string[];
}

type Check = (value: unknown) => string | null;

const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? null : 'must be a text';
const number: Check = (value) =>
  typeof value === 'number' && value > 0 ? null : 'must be a number of seconds over 0';
const list: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? null
    : 'must be a list of texts';
const textOrList: Check = (value) =>
  text(value) === null || list(value) === null ? null : 'must be a text or a list of texts';
const map: Check = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'must be a map of names to texts';
  const wrong = Object.entries(value).find(
    ([, item]) => !['string', 'number', 'boolean'].includes(typeof item),
  );
  return wrong === undefined ? null : `${wrong[0]} must be a text`;
};
const approve: Check = (value) =>
  (APPROVE_MODES as readonly unknown[]).includes(value)
    ? null
    : `must be one of ${APPROVE_MODES.join(', ')}`;
const targets: Check = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? null
    : 'must be a map of target names';

const ROOT_FIELDS: Record<string, Check> = { targets, default_target: text, redact: list };
const TARGET_FIELDS: Record<string, Check> = {
  agent: text,
  command: textOrList,
  model: text,
  args: list,
  env: map,
  cwd: text,
  timeout: number,
  approve,
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
  };
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
    return pair?.key?.range == null ? 1 : lines.linePos(pair.key.range[0]).line;
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
  if (value === null) return { path, default_target: null, targets: {}, redact: [] };
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
    redact: (root.redact as string[]) ?? [],
  };
}

const invalid = (say: string) => new TachoError('config_invalid', say, { stage: 'config' });
