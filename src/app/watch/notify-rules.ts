/** The rules in `watch.notify`: when to notify, about which runs, and how. */
import * as is from '../../lib/schema/read.ts';
import { type Fields, type Read, readMap } from '../../lib/schema/read.ts';
import { isLoopback } from '../../live/protocol/address.ts';
import { compilePatterns } from '../../redact/gate.ts';
import { agentIn, DURATION, measured } from '../config/checks.ts';
import { APP_LIMITS } from '../limits.ts';
import { pathRules, withRealPaths } from './path-rules.ts';

/** States of a run that a rule can name. */
const NOTIFY_STATES = ['waiting', 'stuck', 'gone'] as const;
type NotifyState = (typeof NOTIFY_STATES)[number];

export interface NotifyRule {
  /** For messages and status: `notify[0]`, or the name in the file. */
  name: string;
  /** A run enters one of these states. */
  states: NotifyState[];
  /** The cost of a run exceeds this many US dollars. */
  cost_over: number | null;
  /** A call matches one of these: a text that is contained, or `/regex/`. */
  calls: string[];
  /** Only runs of these agents. Empty: all. */
  agents: string[];
  /** Only runs of projects that a rule about paths matches. Empty: all. */
  projects: string[];
  /** Shortest time between two notifications about the same run. */
  interval_ms: number;
  desktop: boolean;
  webhook: string | null;
  /** A program and its arguments. */
  command: string[] | null;
}

const one =
  <T>(read: Read<T[]>): Read<T[]> =>
  (value, place) =>
    read(Array.isArray(value) ? value : [value], place);

/** The regular expression in `/…/`; null for a plain text. */
export const regexOf = (pattern: string): string | null =>
  /^\/.+\/$/s.test(pattern) ? pattern.slice(1, -1) : null;

/** Regular expressions are matched without backtracking, as patterns of secrets are. */
const callPattern: Read<string> = (value, place) => {
  const text = is.text(value, place);
  const source = regexOf(text);
  try {
    if (source !== null) compilePatterns([source]);
  } catch (error) {
    place.mistake((error as Error).message.replace(/^redaction /, ''), ': ');
  }
  return text;
};

const isUrl = (url: URL | null): url is URL =>
  url !== null && ['https:', 'http:'].includes(url.protocol) && url.hostname !== '';

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '');

/** Why a webhook cannot be used; null if it can. */
function webhookFault(text: string, insecure: boolean): string | null {
  const url = URL.parse(text);
  if (!isUrl(url)) return 'must be a URL with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or password';
  if (url.protocol === 'https:' || insecure || isLoopback(hostOf(url))) return null;
  return 'must use https://, because notifications contain texts of runs; insecure: true allows http://';
}

/** A program that is looked up on PATH, or an absolute path: a service has no working folder. */
const commandIn =
  (home: string): Read<string[]> =>
  (value, place) => {
    const [program = '', ...args] = is.filled(is.texts)(value, place);
    const path = program.startsWith('~/') ? home + program.slice(1) : program;
    const relative = path.includes('/') && !path.startsWith('/');
    if (program === '' || relative)
      place.mistake('must begin with the name of a program, or its absolute path');
    return [path, ...args];
  };

interface RuleContext {
  agents: readonly string[];
  home: string;
}

const fieldsOf = ({ agents, home }: RuleContext) =>
  ({
    name: is.text,
    state: one(is.listOf(is.oneOf(NOTIFY_STATES))),
    cost_over: is.over0('an amount in US dollars'),
    call: one(is.listOf(callPattern)),
    agent: one(is.listOf(agentIn(agents))),
    project: one(pathRules(home)),
    every: measured(DURATION),
    desktop: is.flag,
    webhook: is.text,
    insecure: is.flag,
    command: commandIn(home),
  }) satisfies Fields;

/** Null after a mistake. */
function notifyRule(context: RuleContext): Read<NotifyRule | null> {
  const fields = fieldsOf(context);
  return (value, place) => {
    const found = readMap(value, fields, place);
    if (found === null) return null;
    const { state = [], call = [], cost_over, webhook, insecure = false } = found;
    if (state.length + call.length === 0 && cost_over === undefined)
      place.mistake('needs one of state, cost_over, call');
    if (!found.desktop && webhook === undefined && found.command === undefined)
      place.mistake('needs one of desktop, webhook, command');
    const fault = webhook ? webhookFault(webhook, insecure) : null;
    if (fault !== null) place.inside('webhook').mistake(fault);
    return {
      name: found.name ?? `notify[${place.at.at(-1)}]`,
      states: state,
      cost_over: cost_over ?? null,
      calls: call,
      agents: found.agent ?? [],
      projects: withRealPaths(found.project ?? []),
      interval_ms: found.every ?? APP_LIMITS.notify_interval_ms,
      desktop: found.desktop ?? false,
      webhook: webhook ?? null,
      command: found.command ?? null,
    };
  };
}

/** A long list is a mistake: each rule is checked for every call of every run. */
export const notifyRules =
  (context: RuleContext): Read<NotifyRule[]> =>
  (value, place) => {
    const most = APP_LIMITS.notify_rules_max;
    if (Array.isArray(value) && value.length > most) {
      place.mistake(`has more than ${most} rules`);
      return [];
    }
    const rules = is.listOf(notifyRule(context), 'must be a list of rules')(value, place);
    return rules.filter((rule) => rule !== null);
  };
