/** A short description of a call: the most informative field of its input. Not escaped yet: see terminal-text. */
import { headCopy } from './utf8.ts';

/** The most informative fields. The first one present is used. */
const DESCRIPTIVE =
  'command file_path pattern skill url query description prompt question path'.split(' ');
const VALUES_MAX = 6;
const VALUE_CHARS_MAX = 200;
const TEXT_CHARS_MAX = 2000;

/**
 * Paths inside `cwd` are shown relative to it. A `Read` shows its file, even if a command read it. Every other tool shows
 * its command first: a path must not hide what is executed.
 */
export function callText(input: unknown, cwd: string | null, tool = ''): string {
  if (typeof input === 'string') return headCopy(input, TEXT_CHARS_MAX);
  if (input === null || typeof input !== 'object') return input == null ? '' : String(input);
  const subject = subjectOf(input, tool);
  if (subject !== null) return shortPath(subject.value, cwd);
  return Object.entries(input)
    .slice(0, VALUES_MAX)
    .map(([key, value]) => `${key}=${valueText(value)}`)
    .join(' ');
}

/** The most informative field of a call's input; null if it has none of them. */
export function subjectOf(input: unknown, tool: string): { name: string; value: string } | null {
  if (input === null || typeof input !== 'object') return null;
  const fields = Object.entries(input);
  for (const name of tool === 'Read' ? ['file_path', ...DESCRIPTIVE] : DESCRIPTIVE) {
    const value = fields.find(([key]) => key === name)?.[1];
    if (typeof value === 'string' && value !== '') return { name, value };
  }
  return null;
}

/** `path` relative to `cwd` when inside it. */
function shortPath(path: string, cwd: string | null): string {
  const inside = cwd !== null && cwd !== '' && path.startsWith(`${cwd}/`);
  return headCopy(inside ? path.slice(cwd.length + 1) : path, TEXT_CHARS_MAX);
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return headCopy(value, VALUE_CHARS_MAX);
  if (Array.isArray(value)) return `[${value.length}]`;
  return value !== null && typeof value === 'object' ? '{…}' : String(value);
}
