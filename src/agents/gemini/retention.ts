/**
 * `general.sessionRetention`: sessions of a project that were not changed for `maxAge` are deleted when the CLI starts
 * in the project. On by default. The settings of a project are not read.
 */
import { join } from 'node:path';
import type { Retention } from '../../model/agent.ts';
import { homeOf } from '../kit/sessions.ts';
import { settingIn, systemFolder, unknownRetention } from '../kit/settings.ts';

const GROUP = ['general', 'sessionRetention'];
const SETTING = 'general.sessionRetention.maxAge';
const DAYS = 30;
const SYSTEM = { linux: 'gemini-cli', darwin: 'GeminiCli', win32: 'gemini-cli' };
const UNIT_DAYS = new Map([
  ['h', 1 / 24],
  ['d', 1],
  ['w', 7],
  ['m', 30],
]);

function daysOf(age: unknown): number | null {
  const [, count = '', unit = ''] = /^(\d{1,6})([hdwm])$/.exec(String(age)) ?? [];
  const days = Number(count) * (UNIT_DAYS.get(unit) ?? 0);
  return days > 0 ? days : null;
}

export function retention(env: NodeJS.ProcessEnv): Retention | null {
  const system = systemFolder(SYSTEM);
  const files = [
    env.GEMINI_CLI_SYSTEM_SETTINGS_PATH || join(system, 'settings.json'),
    join(env.GEMINI_CLI_HOME || homeOf(env), '.gemini', 'settings.json'),
    env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH || join(system, 'system-defaults.json'),
  ];
  const read = (name: string) => settingIn(files, [...GROUP, name]);
  const enabled = read('enabled');
  if (enabled.state === 'unknown') return unknownRetention(SETTING, enabled.source);
  if (enabled.state === 'set' && enabled.value === false) return null;
  const age = read('maxAge');
  const days = age.state === 'set' ? daysOf(age.value) : age.state === 'unset' ? DAYS : null;
  if (days === null) return unknownRetention(SETTING, 'source' in age ? age.source : '');
  const count = read('maxCount');
  const most = count.state === 'set' && Number.isInteger(count.value) ? count.value : null;
  return {
    days,
    what: 'deletes',
    setting: SETTING,
    source: age.state === 'set' ? age.source : null,
    also: most === null ? null : `it keeps at most ${most} sessions per project`,
  };
}
