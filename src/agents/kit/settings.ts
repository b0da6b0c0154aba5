/** Settings of an agent's CLI, in its own files. They are foreign: only read, and anything unexpected is unknown. */
import { TachoError } from '../../lib/errors.ts';
import { isMap, own } from '../../lib/own.ts';
import { readTextFile } from '../../lib/text-file.ts';
import type { Retention } from '../../model/agent.ts';
import { AGENT_LIMITS } from './limits.ts';

export type Setting =
  | { state: 'unset' }
  | { state: 'set'; value: unknown; source: string }
  /** The file exists, but cannot be read. */
  | { state: 'unknown'; source: string };

/** The text of a settings file; null: there is none; undefined: it cannot be read. */
export function settingsText(path: string): string | null | undefined {
  try {
    const limits = { bytes_max: AGENT_LIMITS.settings_bytes_max, stage: 'read' };
    return readTextFile(path, limits).text;
  } catch (error) {
    return error instanceof TachoError && error.code === 'not_found' ? null : undefined;
  }
}

/**
 * A setting in JSON files, those with priority first. JSON with comments is not parsed: such a file is unknown, and so is
 * every setting that it could contain.
 */
export function settingIn(paths: readonly string[], names: readonly string[]): Setting {
  for (const source of paths) {
    const text = settingsText(source);
    if (text === null) continue;
    let value: unknown;
    try {
      value = JSON.parse(text ?? '');
    } catch {
      return { state: 'unknown', source };
    }
    for (const name of names) value = isMap(value) ? own(value, name) : undefined;
    if (value !== undefined) return { state: 'set', value, source };
  }
  return { state: 'unset' };
}

/** A rule with an unknown number of days. */
export const unknownRetention = (setting: string, source: string): Retention => ({
  days: null,
  what: 'deletes',
  setting,
  source,
  also: null,
});

/** The folder of an administrator's settings for a program, by platform. */
export function systemFolder(names: { linux: string; darwin: string; win32: string }): string {
  const { platform } = process;
  if (platform === 'darwin') return `/Library/Application Support/${names.darwin}`;
  return platform === 'win32' ? `C:\\ProgramData\\${names.win32}` : `/etc/${names.linux}`;
}
