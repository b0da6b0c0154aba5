/**
 * `cleanupPeriodDays`: session files that were not changed for this many days are deleted when the CLI starts. Settings
 * of an administrator have priority over the user's. A project's settings have priority over the user's as well, and
 * apply to the sessions of all projects once the CLI runs there; they are not read.
 */
import { join } from 'node:path';
import type { Retention } from '../../model/agent.ts';
import { homeOf } from '../kit/sessions.ts';
import { settingIn, systemFolder, unknownRetention } from '../kit/settings.ts';

const SETTING = 'cleanupPeriodDays';
const DAYS = 30;
const MANAGED = { linux: 'claude-code', darwin: 'ClaudeCode', win32: 'ClaudeCode' };

export function retention(env: NodeJS.ProcessEnv): Retention {
  const files = [
    join(systemFolder(MANAGED), 'managed-settings.json'),
    join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), '.claude'), 'settings.json'),
  ];
  const found = settingIn(files, [SETTING]);
  const rule = { what: 'deletes', setting: SETTING, also: null } as const;
  if (found.state === 'unset') return { ...rule, days: DAYS, source: null };
  const days = found.state === 'set' ? found.value : null;
  // 0 is refused by current versions. Earlier versions wrote no session files.
  if (typeof days !== 'number' || !(days >= 1)) return unknownRetention(SETTING, found.source);
  return { ...rule, days, source: found.source };
}
