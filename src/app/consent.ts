/**
 * Consent to what files of a repository make tacho do. A file asks by its content; the user agrees on a terminal, by
 * `tacho trust`, or with `--trust` for one command. Consent covers the content that was shown: a changed file asks again.
 */
import { dirname } from 'node:path';
import { TachoError } from '../lib/errors.ts';
import { oneLine } from '../lib/terminal-text.ts';
import { isKnown, remember } from '../store/user-state.ts';
import type { Config, Target } from './config.ts';
import type { Acting } from './own-state.ts';
import { openRedactor, passingHash } from './redaction.ts';

export interface Asking {
  /** Absolute, without symbolic links. */
  path: string;
  /** Hash of all that its effects depend on. */
  sha256: string;
  /** Everything the file asks for. */
  effects: string[];
  /** What of it this command uses; default: everything. */
  used?: string[];
}

export interface Consenting extends Acting {
  /** Null: there is nobody to ask. */
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

/** A harmless beginning must not hide that there is more. */
export function shown(effect: string): string {
  const text = oneLine(effect, EFFECT_CHARS_MAX);
  const more = oneLine(effect, Number.POSITIVE_INFINITY).length - text.length;
  return more > 0 ? `${text} (${more} more characters: read the file before you agree)` : text;
}

/** False where the user's own state cannot be written. */
export function rememberConsent(asking: Asking): boolean {
  return remember({ ...fact(asking), notes: lines(asking) });
}

export const hasConsent = (asking: Asking): boolean => isKnown(fact(asking));

/** Returns when the user agrees, and says what the file does; else throws a TachoError that says how to agree. */
export function needConsent(asking: Asking, consenting: Consenting): void {
  const { path, effects, used = effects } = asking;
  if (used.length === 0) return;
  if (!consenting.trust && !hasConsent(asking)) askFor(asking, consenting);
  consenting.say(`note: ${path}: ${used.join('; ')} (trusted)`);
}

function askFor(asking: Asking, consenting: Consenting): void {
  const path = oneLine(asking.path, EFFECT_CHARS_MAX);
  const what = `${path} asks for what needs your consent:\n${lines(asking)
    .map((line) => `  ${line}\n`)
    .join('')}`;
  const answer = consenting.ask(`${what}Allow this, also later while the file is unchanged?`);
  if (answer === true) {
    rememberConsent(asking);
    return;
  }
  const ways = `tacho trust ${oneLine(dirname(asking.path), EFFECT_CHARS_MAX)} remembers it; --trust or TACHO_TRUST=1 agrees for one command`;
  throw new TachoError('untrusted', `${what}Read the file first. To agree: ${ways}.`, {
    stage: 'consent',
  });
}

/** Words of a command as one would type them, more or less. */
export const words = (list: readonly string[]) =>
  list.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');

/**
 * Fields of a target that need consent. Those that are not here choose no program, reach no file and widen no right: model,
 * timeout, max_cost, max_tokens, max_tool_calls, max_steps, loop_guard, retries, stream_log.
 */
const TARGET_EFFECTS: { [F in keyof Target]?: (target: Target) => string | null } = {
  agent: ({ agent, command }) => (command === null ? `runs the agent ${agent}` : null),
  command: ({ agent, command }) =>
    command === null ? null : `starts ${words(command)} as the agent ${agent}`,
  args: ({ args }) => (args.length === 0 ? null : `adds the arguments ${words(args)}`),
  env: ({ env }) => {
    // The values may be secrets.
    const names = Object.keys(env);
    return names.length === 0 ? null : `sets the variables ${words(names)}`;
  },
  cwd: ({ cwd }) => (cwd === null ? null : `works in ${words([cwd])}`),
  approve: ({ approve }) => (approve === null ? null : `with approve: ${approve}`),
};

export function targetEffects(name: string, target: Target): string {
  const effects = Object.values(TARGET_EFFECTS).map((effect) => effect(target));
  return `target ${name}: ${effects.filter((effect) => effect !== null).join(', ')}`;
}

/** `redact` needs no consent: it only takes away. */
export function configAsking(config: Config, used?: string[]): Asking {
  const { path, sha256, targets, retention } = config;
  const effects = Object.entries(targets).map(([name, target]) => targetEffects(name, target));
  if (retention.length > 0) effects.push(retentionEffect(config));
  const safe = (texts: string[]) => withoutSecrets(texts, config.redact);
  return { path, sha256, effects: safe(effects), ...(used && { used: safe(used) }) };
}

/** Effects are printed and stored, and an argument may be a secret. */
export function withoutSecrets(effects: string[], redact: readonly string[] = []): string[] {
  if (effects.length === 0) return effects;
  const { env } = process;
  const redactor = openRedactor({ env, redact, hash: passingHash(undefined, env) });
  return effects.map((effect) => redactor.text(effect));
}

export const retentionEffect = ({ retention }: Config) =>
  `retention: tacho runs gc removes runs by ${words(retention.map(({ name }) => name))}`;
