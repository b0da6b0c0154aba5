/**
 * Consent to the effects of files in a repository. A file requests consent for its content; the user agrees on a terminal, with
 * `tacho trust`, or with `--trust` for one command. Consent covers the content that was shown: a changed file asks
 * again.
 */
import { dirname } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { bytesText, durationText } from '../../lib/figures.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { knownSecrets } from '../../redact/gate.ts';
import type { RetentionPolicy } from '../../store/journal/retention.ts';
import { isKnown, remember } from '../../store/user-state.ts';
import type { Config, Target } from './config.ts';
import type { Acting } from './own-state.ts';
import { openRedactor, passingHash } from './redaction.ts';

export interface Asking {
  /** Absolute, without symbolic links. */
  path: string;
  /** Hash of everything that its effects depend on. */
  sha256: string;
  /** Everything the file asks for. */
  effects: string[];
  /** The effects that this command uses. Default: all. */
  used?: string[];
}

export interface Consenting extends Acting {
  /** Null if nobody can be asked. */
  ask(question: string): boolean | null;
}

const EFFECT_CHARS_MAX = 300;
const EFFECTS_SHOWN_MAX = 50;

const fact = ({ path, sha256 }: Asking) => ({ kind: 'config' as const, path, key: sha256 });
const lines = ({ effects }: Asking) => [
  ...effects.slice(0, EFFECTS_SHOWN_MAX).map(shown),
  ...(effects.length > EFFECTS_SHOWN_MAX
    ? [`and ${effects.length - EFFECTS_SHOWN_MAX} more: read the file before you agree`]
    : []),
];

/** A harmless beginning must not hide the end. */
export function shown(effect: string): string {
  const text = oneLine(effect, EFFECT_CHARS_MAX);
  const more = oneLine(effect, Number.POSITIVE_INFINITY).length - text.length;
  return more > 0 ? `${text} (${more} more characters: read the file before you agree)` : text;
}

/** False if the user's own state cannot be written. */
export function rememberConsent(asking: Asking): boolean {
  return remember({ ...fact(asking), notes: lines(asking) });
}

const hasConsent = (asking: Asking): boolean => isKnown(fact(asking));

/**
 * Returns if the user agrees, and reports the file's effects. Otherwise throws a TachoError that explains how to
 * agree.
 */
export function needConsent(asking: Asking, consenting: Consenting): void {
  const { path, effects, used = effects } = asking;
  if (used.length === 0) return;
  if (!consenting.trust && !hasConsent(asking)) askFor(asking, consenting);
  consenting.say(`note: ${path}: ${used.join('; ')} (trusted)`);
}

function askFor(asking: Asking, consenting: Consenting): void {
  const path = oneLine(asking.path, EFFECT_CHARS_MAX);
  const what = `${path} needs your consent:\n${lines(asking)
    .map((line) => `  ${line}\n`)
    .join('')}`;
  const answer = consenting.ask(`${what}Allow this now and later, until the file changes?`);
  if (answer === true) {
    rememberConsent(asking);
    return;
  }
  const ways = `tacho trust ${oneLine(dirname(asking.path), EFFECT_CHARS_MAX)} stores your consent; --trust or TACHO_TRUST=1 agrees for one command`;
  throw new TachoError('untrusted', `${what}Read the file first. To agree: ${ways}.`, {
    stage: 'consent',
  });
}

/** Arguments of a command, roughly as they would be typed. */
export const words = (list: readonly string[]) =>
  list.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');

/** The applicable parts of a table of effects. */
function parts<T>(table: Readonly<Record<string, (of: T) => string | false>>, of: T): string {
  const all = Object.values(table).map((effect) => effect(of));
  return all.filter((effect) => effect !== false).join(', ');
}

/**
 * Fields of a target that need consent. The others choose no program, reach no file and extend no permission:
 * timeout, max_cost, max_tokens, max_tool_calls, max_steps, loop_guard, fail_on, retries, stream_log.
 */
const TARGET_EFFECTS: { [F in keyof Target]?: (target: Target) => string | false } = {
  agent: ({ agent, command }) => command === undefined && `runs the agent ${agent}`,
  command: ({ agent, command }) =>
    command !== undefined && `starts ${words(command)} as the agent ${agent}`,
  model: ({ model }) => model !== undefined && `with the model ${words([model])}`,
  args: ({ args }) => args.length > 0 && `adds the arguments ${words(args)}`,
  env: ({ env }) => {
    // The values may be secrets.
    const names = Object.keys(env);
    return names.length > 0 && `sets the variables ${words(names)} to values that are not shown`;
  },
  cwd: ({ cwd }) => cwd !== undefined && `works in ${words([cwd])}`,
  best_effort_limits: ({ best_effort_limits }) =>
    best_effort_limits === true && 'accepts limits that the agent reports too late to be stopped',
  approve: ({ approve }) => approve !== undefined && `with approve: ${approve}`,
};

export const targetEffects = (name: string, target: Target) =>
  `target ${words([name])}: ${parts(TARGET_EFFECTS, target)}`;

/** `redact` needs no consent: it only removes. Used effects come first: if there are many, the rest is not shown. */
export function configAsking(config: Config, used?: string[]): Asking {
  const { path, sha256, targets } = config;
  const all = Object.entries(targets).map(([name, target]) => targetEffects(name, target));
  const effects = [
    ...new Set([...(used ?? []), ...all, ...retentionEffects(config), ...auditEffects(config)]),
  ];
  return {
    path,
    sha256,
    effects: withoutSecrets(effects),
    ...(used && { used: withoutSecrets(used) }),
  };
}

/** No white space, and no characters that are special to a shell. */
const SECRET_CHARS = /[\w.~+/=:@-]+/g;
const HIDDEN = '(parts are hidden: read the file before you agree)';

/**
 * Effects are printed and stored, and an argument may be a secret. The file controls the text and must not hide a
 * command in it: its own patterns are ignored, and known shapes are matched within single words. Values of the user's
 * environment are replaced everywhere.
 */
export function withoutSecrets(effects: string[]): string[] {
  if (effects.length === 0) return effects;
  const { env } = process;
  const redactor = openRedactor({ env, redact: [], hash: passingHash(undefined, env) });
  const values = knownSecrets(env, []).values.map(
    (value) => [value, redactor.text(value)] as const,
  );
  const forms = values.flatMap(([value, mark]) =>
    [value, JSON.stringify(value).slice(1, -1)].map((form) => [form, mark] as const),
  );
  return effects.map((effect) => {
    let safe = effect;
    for (const [form, mark] of forms) safe = safe.replaceAll(form, () => mark);
    safe = safe.replace(SECRET_CHARS, (word) => redactor.text(word));
    return safe === effect ? effect : `${safe} ${HIDDEN}`;
  });
}

/** Rules that the file adds need no consent: they only report more. */
export const auditEffects = ({ audit }: Config) =>
  (audit?.off ?? []).map(
    (id) => `audit: tacho audit does not report the rule ${words([id])} for runs of this project`,
  );

const POLICY_EFFECTS: Record<keyof RetentionPolicy, (policy: RetentionPolicy) => string | false> = {
  age_ms_max: ({ age_ms_max: ms }) => ms !== null && `max_age: ${durationText(ms)}`,
  runs_max: ({ runs_max }) => runs_max !== null && `max_runs: ${runs_max}`,
  bytes_max: ({ bytes_max: bytes }) => bytes !== null && `max_size: ${bytesText(bytes)}`,
  archive: ({ archive }) => !archive && 'without an archive',
  agent: ({ agent }) => agent !== null && `agent: ${words([agent])}`,
  status: ({ status }) => status !== null && `status: ${status}`,
  project: ({ project }) => project !== null && `project: ${words([project])}`,
  labels: ({ labels }) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    return pairs.length > 0 && `label: ${words(pairs)}`;
  },
  keep_failed: ({ keep_failed }) => keep_failed && 'not failed ones',
  keep_successful: ({ keep_successful }) => keep_successful && 'not successful ones',
  name: ({ name }) => `named ${words([name])}`,
};

export const retentionEffects = ({ retention }: Config) =>
  retention.map(
    (policy) => `retention: tacho runs gc removes runs, ${parts(POLICY_EFFECTS, policy)}`,
  );
