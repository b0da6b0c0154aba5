/** Removes the parts of inputs and outputs that differ between two equal runs: folders, temporary files, times. Pure. */
import { baseOf } from '../../lib/paths.ts';

const TEMPORARY =
  /\/(?:private\/)?(?:tmp|var\/tmp|var\/folders\/[^/\s]+\/[^/\s]+\/T)\/[^/\s"'`:;,)\]}]+/g;

const NAME = '[0-9a-f]';
/** Parts of outputs that change from run to run, each with its replacement. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d\b)?/g, '<time>'],
  [
    /\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +(?:\d\d:\d\d|\d{4})\b/g,
    '<time>',
  ],
  [/\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b/g, '<time>'],
  [/\b\d+(?:\.\d+)? ?(?:ns|\u00b5s|us|ms|s|secs?|seconds?|m|min|minutes?)\b/g, '<duration>'],
  [new RegExp(`\\b${NAME}{8}-${NAME}{4}-${NAME}{4}-${NAME}{4}-${NAME}{12}\\b`, 'gi'), '<id>'],
];

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

export interface Volatile {
  /** A text of an input: paths in the run's own folders are relative to them. */
  input(text: string): string;
  /** The same for outputs, and without times. */
  output(text: string): string;
}

/** `folders`: the run's working directory and project. */
export function createVolatile(folders: readonly (string | null)[]): Volatile {
  const roots = [...new Set(folders.map(baseOf))]
    .filter((root) => root !== null && root !== '/' && root !== '')
    .sort((a, b) => (b as string).length - (a as string).length) as string[];
  const own =
    roots.length === 0 ? null : new RegExp(`(?:${roots.map(escaped).join('|')})(?![\\w.-])`, 'g');
  const input = (text: string) => {
    if (!text.includes('/') && !text.includes('\\')) return text;
    const relative = own === null ? text : text.replace(own, '.');
    return relative.replace(TEMPORARY, '<tmp>').replace(/(?<![\w./])\.\/(?=\w)/g, '');
  };
  const output = (text: string) =>
    CHANGING.reduce((rest, [pattern, word]) => rest.replace(pattern, word), input(text));
  return { input, output };
}
