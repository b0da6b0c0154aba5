/**
 * The `watch` section of the user's own `tacho.yaml`: which sessions are followed, what is stored, who is notified
 * (WA-12, WA-16). Contract: no file of a repository can change it.
 */
import { isAbsolute } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { isMap } from '../../lib/own.ts';
import type { Fields, Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import { parseAddress, sendingUrl } from '../../live/protocol/address.ts';
import { agentIn } from '../config/checks.ts';
import type { LiveRunOptions } from '../live/destination.ts';
import { type NotifyRule, notifyRules } from './notify-rules.ts';
import { matchesPath, pathRules, withRealPaths } from './path-rules.ts';

export interface WatchConfig {
  /** Ids of the agents to follow. Null: all. */
  agents: string[] | null;
  /** Rules about paths. Empty: everything. */
  include: string[];
  /** Rules about paths. They have priority over `include`. */
  exclude: string[];
  /** Store no texts, inputs and outputs. */
  metadata_only: boolean;
  notify: NotifyRule[];
  /** The collector that gets everything that is followed. */
  live: LiveRunOptions | null;
}

export const WATCH_DEFAULTS: WatchConfig = {
  agents: null,
  include: [],
  exclude: [],
  metadata_only: false,
  notify: [],
  live: null,
};

const address: Read<string> = (value, place) => {
  const text = is.text(value, place);
  try {
    // Alone, it is the collector of the store.
    if (text !== '' && text !== 'unix:' && parseAddress(text).kind === 'stdio')
      place.mistake('must be the address of a collector, not stdio:');
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    place.mistake(error.message, ': ');
  }
  return text;
};

/** An absolute path: a service has no working folder. */
const fileIn =
  (home: string): Read<string> =>
  (value, place) => {
    const text = is.text(value, place);
    const path = text.startsWith('~/') ? home + text.slice(1) : text;
    if (path !== '' && !isAbsolute(path))
      place.mistake('must be an absolute path, or begin with ~/');
    return path;
  };

/** An address, or a map with it and what a connection to it needs. */
function collector(home: string): Read<LiveRunOptions | null> {
  const file = fileIn(home);
  const fields = {
    url: is.required(is.text),
    token_file: file,
    ca: file,
    insecure: is.flag,
  } satisfies Fields;
  return (value, place) => {
    if (!isMap(value)) return { url: address(value, place) };
    const { url, token_file: tokenFile, ca, insecure = false } = is.mapOf(fields)(value, place);
    if (url === undefined) return null;
    address(sendingUrl(url, insecure), place.inside('url'));
    return { url, tokenFile, ca, insecure };
  };
}

/** `agents`: the known ids. `home`: for `~` in paths. */
export function watchSection(agents: readonly string[], home: string): Read<WatchConfig> {
  const fields = {
    agents: is.filled(is.listOf(agentIn(agents))),
    include: pathRules(home),
    exclude: pathRules(home),
    metadata_only: is.flag,
    notify: notifyRules({ agents, home }),
    live: collector(home),
  } satisfies Fields;
  return (value, place) => {
    const found = is.mapOf(fields)(value, place);
    return {
      agents: found.agents ?? null,
      include: withRealPaths(found.include ?? []),
      exclude: withRealPaths(found.exclude ?? []),
      metadata_only: found.metadata_only ?? false,
      notify: found.notify ?? [],
      live: found.live ?? null,
    };
  };
}

export interface SessionPlace {
  session_file: string;
  /** The working folder that the session names; null if it is unknown. */
  cwd: string | null;
}

/**
 * Whether a session is followed. A rule matches the session file or the working folder. A session with an unknown
 * working folder may be one that a rule is about: it is followed only if there are no rules, or if `include` matches
 * its file.
 */
export function isIncluded(
  { session_file, cwd }: SessionPlace,
  { include, exclude }: Pick<WatchConfig, 'include' | 'exclude'>,
): boolean {
  const paths = cwd === null ? [session_file] : [session_file, cwd];
  const matches = (rules: readonly string[]) => paths.some((path) => matchesPath(rules, path));
  if (matches(exclude)) return false;
  if (include.length > 0) return matches(include);
  return exclude.length === 0 || cwd !== null;
}
