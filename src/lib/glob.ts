/** Globs as patterns: `*`, `**`, `?`, `[abc]` and `{a,b}`. */

const GLOB_PART = /\\.|\*\*\/|\*\*|\*|\?|\[!?[^\]/]+\]|[{},]|[\s\S]/gu;

/** `one`: the class of characters that `*` and `?` match; `[^/]` in a path. */
export function globPattern(glob: string, one: '[^/]' | '[\\s\\S]'): string {
  const closed = glob.split('{').length === glob.split('}').length;
  let depth = 0;
  const parts = (glob.match(GLOB_PART) ?? []).map((part) => {
    if (part === '**/') return '(?:[\\s\\S]*/)?';
    if (part === '**') return '[\\s\\S]*';
    if (part === '*') return `${one}*`;
    if (part === '?') return one;
    if (part.length > 1 && part.startsWith('[')) return classPattern(part);
    if (closed && part === '{') {
      depth += 1;
      return '(?:';
    }
    if (depth > 0 && part === ',') return '|';
    if (depth > 0 && part === '}') {
      depth -= 1;
      return ')';
    }
    return escaped(part.length > 1 && part.startsWith('\\') ? part.slice(1) : part);
  });
  return `^${parts.join('')}${')'.repeat(depth)}$`;
}

const classPattern = (part: string) =>
  `[${part.slice(1, -1).replace(/^!/, '^').replaceAll('\\', '\\\\').replaceAll('[', '\\[')}]`;

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
