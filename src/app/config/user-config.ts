/**
 * The user's own settings, for work that belongs to no project: `tacho.yaml` in the user's configuration folder.
 * Contract: the current folder and the store are irrelevant, so a cloned repository cannot supply this file.
 */
import { lstatSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { errnoOf } from '../../lib/errors.ts';
import { homeFolder } from '../../lib/home.ts';
import { Report } from '../../lib/schema/mistakes.ts';
import * as is from '../../lib/schema/read.ts';
import { WATCH_DEFAULTS, type WatchConfig, watchSection } from '../watch/watch-config.ts';
import { patterns, readConfig } from './config.ts';
import { notRead, writableByOthers } from './find-config.ts';
import { type OwnPrices, ownPrices } from './prices.ts';

export interface UserConfig {
  /** Null: there is no such file. */
  path: string | null;
  /** Patterns of secrets, for all sessions that are followed. */
  redact: string[];
  watch: WatchConfig;
  prices: OwnPrices;
}

const DEFAULTS: Omit<UserConfig, 'path'> = { redact: [], watch: WATCH_DEFAULTS, prices: [] };

type Env = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/tacho/tacho.yaml`; by default in `~/.config`, on Windows in `%APPDATA%`. */
export function userConfigPath(env: Env, platform: NodeJS.Platform = process.platform): string {
  const { XDG_CONFIG_HOME: given = '', APPDATA: roaming = '' } = env;
  const usual =
    platform === 'win32' && isAbsolute(roaming) ? roaming : join(homeFolder(), '.config');
  // The XDG specification says to ignore relative paths.
  return join(isAbsolute(given) ? given : usual, 'tacho', 'tacho.yaml');
}

/** A dangling link is not a missing file: settings for privacy would be ignored silently. */
function isMissing(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errnoOf(error));
  }
}

/** `path`: a file that the user named instead; it must exist. Throws a TachoError with all mistakes. */
export async function loadUserConfig(
  env: Env,
  agents: readonly string[],
  path: string | null = null,
): Promise<UserConfig> {
  const file = path ?? userConfigPath(env);
  if (path === null && isMissing(file)) return { path: null, ...DEFAULTS };
  const { text, stat } = readConfig(file);
  const why = writableByOthers(stat);
  if (why !== null) throw notRead(file, why);
  const { readYaml } = await import('../../lib/schema/yaml.ts');
  const report = new Report('config');
  const yaml = readYaml(file, text);
  const place = report.open(yaml);
  const fields = {
    redact: patterns,
    watch: watchSection(agents, homeFolder()),
    prices: ownPrices,
  };
  const {
    redact = DEFAULTS.redact,
    watch = DEFAULTS.watch,
    prices = DEFAULTS.prices,
  } = is.mapOf(fields)(yaml.value ?? {}, place);
  report.end();
  return { path: file, redact, watch, prices };
}
