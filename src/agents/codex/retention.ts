/**
 * `features.local_thread_store_compression`: session files older than a week are compressed. Off by default. The CLI
 * deletes no sessions on its own.
 */
import { join } from 'node:path';
import type { Retention } from '../../model/agent.ts';
import { homeOf } from '../kit/sessions.ts';
import { settingsText } from '../kit/settings.ts';

const FEATURE = 'local_thread_store_compression';
const DAYS = 7;
/** The two usual forms in TOML: in the table `[features]`, or with a dotted key. */
const TABLE = /^\s*\[([^[\]]*)\]/;
const KEY = new RegExp(`^\\s*(features\\.)?"?${FEATURE}"?\\s*=\\s*(\\w+)`);

function isOn(toml: string): boolean {
  let table = '';
  let on = false;
  for (const line of toml.split('\n')) {
    table = TABLE.exec(line)?.[1]?.trim() ?? table;
    const [, dotted, value] = KEY.exec(line) ?? [];
    const place = dotted === undefined ? 'features' : '';
    if (value !== undefined && table === place) on = value === 'true';
  }
  return on;
}

export function retention(env: NodeJS.ProcessEnv): Retention | null {
  const source = join(env.CODEX_HOME || join(homeOf(env), '.codex'), 'config.toml');
  const text = settingsText(source);
  if (text === null) return null;
  const rule = { what: 'compresses', setting: `features.${FEATURE}`, source, also: null } as const;
  if (text === undefined) return { ...rule, days: null };
  return isOn(text) ? { ...rule, days: DAYS } : null;
}
