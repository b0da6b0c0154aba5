/** `tacho.yaml`: named targets, patterns of secrets, retention. Every mistake is reported with line, column and field. */
import { dirname, resolve } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isMap } from '../../lib/own.ts';
import { pick } from '../../lib/pick.ts';
import { Report } from '../../lib/schema/mistakes.ts';
import * as is from '../../lib/schema/read.ts';
import { type Fields, type Read, unknownWord, type Values } from '../../lib/schema/read.ts';
import { readTextFile, type TextFile } from '../../lib/text-file.ts';
import type { RunLimits } from '../../model/parts.ts';
import { APPROVE_MODES, FAIL_ON, type FailOn } from '../../model/words.ts';
import { compilePatterns, REDACT_LIMITS } from '../../redact/gate.ts';
import type { RetentionPolicy } from '../../store/journal/retention.ts';
import { hashOf } from '../../store/user-state.ts';
import type { AuditConfig } from './audit.ts';
import { agentIn, isFailOn, likeFlag } from './checks.ts';
import { linked, notRead, writableByOthers } from './find-config.ts';
import { LOG_FIELDS, logOf, type TargetLog } from './log.ts';
import { outsideProject } from './project.ts';
import { policy } from './retention.ts';

export { findConfig } from './find-config.ts';

/** Fields of a target that keep their name and their value. */
const KEPT = ['model', 'timeout', 'approve', 'retries', 'best_effort_limits', 'fail_on'] as const;
type TargetField = (typeof KEPT)[number] | 'command' | 'cwd';

/** `cwd`, and a program with a slash, are absolute paths; `timeout` is in seconds. */
export interface Target extends TargetLog, Pick<Values<typeof TARGET>, TargetField> {
  agent: string;
  args: string[];
  env: Record<string, string>;
  limits: Partial<RunLimits>;
}

export interface Config {
  path: string;
  /** Hash of the file's bytes. */
  sha256: string;
  default_target: string | null;
  targets: Record<string, Target>;
  redact: string[];
  retention: RetentionPolicy[];
  /** Null if the file says nothing about it. */
  audit: AuditConfig | null;
}

/** Each pattern that cannot be used, alone or together with those before it, is a mistake. */
export const patterns: Read<string[]> = (value, place) => {
  const good: string[] = [];
  const pattern: Read = (item, here) => {
    const source = is.text(item, here);
    if (source === '') return;
    try {
      compilePatterns([...good, source]);
      good.push(source);
    } catch (error) {
      here.mistake((error as Error).message);
    }
  };
  const most = REDACT_LIMITS.redaction_patterns_max;
  if (Array.isArray(value) && value.length > most) place.mistake(`has more than ${most} patterns`);
  else is.listOf(pattern, 'must be a list of strings')(value, place);
  return good;
};

const command: Read<string[]> = (value, place) => {
  const words = typeof value === 'string' ? [value] : value;
  if (Array.isArray(words) && words[0] !== '' && words.length > 0) return is.texts(words, place);
  place.mistake('must be a string or a list of strings');
  return [''];
};

const model: Read<string> = (value, place) => {
  const name = is.text(value, place);
  const wrong = likeFlag(name);
  if (wrong !== null) place.mistake(wrong);
  return name;
};

/** One condition or a list of them. */
const failOn: Read<FailOn[]> = (value, place) => {
  const words = is.texts(typeof value === 'string' ? [value] : value, place);
  const wrong = words.find((word) => !isFailOn(word));
  if (wrong !== undefined) place.mistake(unknownWord('condition', wrong, FAIL_ON), ': ');
  return words.filter(isFailOn);
};

const TARGET = {
  command,
  model,
  args: is.texts,
  env: is.named(is.written(is.anyText), 'must be a map of names to strings'),
  cwd: is.text,
  timeout: is.over0('a number of seconds'),
  approve: is.oneOf(APPROVE_MODES),
  max_cost: is.over0('an amount in US dollars'),
  max_tokens: is.whole(1),
  max_tool_calls: is.whole(0),
  max_steps: is.whole(1),
  loop_guard: is.whole(2),
  best_effort_limits: is.flag,
  fail_on: failOn,
  retries: is.whole(0),
  ...LOG_FIELDS,
} satisfies Fields;

/** A target's field for each limit. */
const LIMIT_FIELDS = {
  cost_usd: 'max_cost',
  tokens: 'max_tokens',
  tool_calls: 'max_tool_calls',
  steps: 'max_steps',
  same_calls: 'loop_guard',
} as const satisfies Record<keyof RunLimits, keyof typeof TARGET>;

/** Paths are relative to the file's folder: the agent's working folder may be foreign and must not choose a program. */
function targetIn(folder: string, agents: readonly string[]): Read<Target> {
  const fields = { agent: is.required(agentIn(agents)), ...TARGET };
  const placed = ([program = '', ...rest]: string[]) => [
    program.includes('/') ? resolve(folder, program) : program,
    ...rest,
  ];
  return (value, place) => {
    const found = is.mapOf(fields)(value, place);
    const { agent, command, args = [], env = {}, cwd } = found;
    const limits = Object.entries(LIMIT_FIELDS).flatMap(([limit, field]) =>
      found[field] === undefined ? [] : [[limit, found[field]] as const],
    );
    // Without a command, the program of an ACP agent is the first argument.
    const in_args = agent === 'acp' && command === undefined && args.length > 0;
    return {
      ...pick(found, ...KEPT),
      ...{ agent, env },
      command: command && placed(command),
      args: in_args ? placed(args) : args,
      cwd: cwd === undefined ? undefined : resolve(folder, cwd),
      limits: Object.fromEntries(limits) as Partial<RunLimits>,
      ...logOf(found, place),
    };
  };
}

/** A repository must not choose what is recorded of all projects, who is notified, nor what a limit of the cost counts. */
const notHere: Read = (_value, place) =>
  place.mistake('has no effect here: tacho reads it from your own tacho.yaml (~/.config/tacho)');
const none: Read<AuditConfig | null> = () => null;

/** An existing but unreadable file, such as a dangling link, is a mistake of the configuration. */
export function readConfig(path: string): TextFile {
  try {
    return readTextFile(path, { bytes_max: LIMITS.config_bytes_max, stage: 'config' });
  } catch (error) {
    throw new TachoError('config_invalid', (error as Error).message, { stage: 'config' });
  }
}

export async function loadConfig(path: string, agents: readonly string[]): Promise<Config> {
  const { text: source, bytes, stat } = readConfig(path);
  // A message about a mistake would quote the file.
  if (outsideProject(path)(path)) throw linked(path);
  const why = writableByOthers(stat);
  if (why !== null) throw notRead(path, why);
  const { readYaml } = await import('../../lib/schema/yaml.ts');
  const report = new Report('config');
  const yaml = readYaml(path, source);
  const place = report.open(yaml);
  const fields = {
    // Its rules are loaded only by files that change them.
    audit:
      isMap(yaml.value) && 'audit' in yaml.value ? (await import('./audit.ts')).auditConfig : none,
    targets: is.named(targetIn(dirname(path), agents), 'must be a map of target names'),
    default_target: is.text,
    redact: patterns,
    retention: is.listOf(policy, 'must be a list of policies'),
    watch: notHere,
    prices: notHere,
  };
  const found = is.mapOf(fields)(yaml.value ?? {}, place);
  const { targets = {}, default_target = null, redact = [], retention = [] } = found;
  if (default_target !== null && !Object.hasOwn(targets, default_target)) {
    const there = Object.keys(targets).join(', ') || 'none';
    place.inside('default_target').mistake(`is not the name of a target; targets: ${there}`);
  }
  report.end();
  const policies = retention.filter((item) => item !== null);
  const audit = found.audit ?? null;
  return {
    path,
    sha256: hashOf(bytes),
    default_target,
    targets,
    redact,
    retention: policies,
    audit,
  };
}
