/** Finds lookups in plain-object tables that property names of `Object.prototype` would match. */

/** A constant or field with a table type that accepts any word, or lacks some words. */
const DECLARED =
  /(?:\b(?:const|let|readonly|static)\s+)(#?[A-Za-z_]\w*)\s*:\s*(?:Readonly<|Partial<)*(?:Record<\s*string\b|\{\s*readonly \[\w+: string\]|\{\s*\[\w+: string\])|\b(?:const|let)\s+([A-Za-z_]\w*)\s*:\s*(?:Readonly<)*Partial<(?:Readonly<)*Record</g;
const EXPORTED = /\bexport\s+(?:const|let)\s+([A-Za-z_]\w*)/g;
const IMPORTED = /\bimport\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'([^']+)'/g;

export interface Source {
  path: string;
  text: string;
}

const withoutComments = (text: string) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (found) => found.replace(/[^\n]/g, ' '))
    .replace(/(^|\s)\/\/[^\n]*/g, (found) => found.replace(/[^\n]/g, ' '));

/** A name for such a table type. */
const ALIAS = /\btype\s+(\w+)\s*=\s*(?=(?:Readonly<|Partial<)*Record<\s*string\b)/g;

function declaredIn(text: string): string[] {
  const direct = [...text.matchAll(DECLARED)].map(([, open, partial]) => open ?? partial ?? '');
  const named = [...text.matchAll(ALIAS)].flatMap(([, type]) =>
    [
      ...text.matchAll(
        new RegExp(`\\b(?:const|readonly|static)\\s+(#?[A-Za-z_]\\w*)\\s*:\\s*${type}\\b`, 'g'),
      ),
    ].map(([, name = '']) => name),
  );
  return [...direct, ...named];
}

/** `path:line: text` of every such lookup. */
export function unguardedLookups(sources: readonly Source[]): string[] {
  const clean = sources.map(({ path, text }) => ({ path, text: withoutComments(text) }));
  const exported = new Set<string>();
  for (const { text } of clean) {
    const tables = new Set(declaredIn(text));
    for (const [, name = ''] of text.matchAll(EXPORTED)) if (tables.has(name)) exported.add(name);
  }
  return clean.flatMap(({ path, text }) => {
    const tables = new Set(declaredIn(text));
    for (const [, names = ''] of text.matchAll(IMPORTED))
      for (const name of names.split(',').map((one) => one.trim()))
        if (exported.has(name)) tables.add(name);
    return lookupsIn(path, text, tables);
  });
}

/** A word tested with `in`: this also finds inherited properties. */
const IN = /(?<!\bfor \([^)]*)\bin\s+(?:this\.)?(#?[A-Za-z_]\w*)/g;

/** Each index by a name, member, call or template; numbers and plain strings are not foreign words. */
const INDEX =
  /(#?[A-Za-z_$]\w*)(?:\s+as\s+\w+\))?!?\??\.?\[([^\][\n]*(?:\[[^\]\n]*\])?[^\][\n]*)\]/g;

function lookupsIn(path: string, text: string, tables: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const lines = text.split('\n');
  for (const [at, line] of lines.entries()) {
    for (const [, name = '', index = ''] of line.matchAll(INDEX)) {
      if (/^(?:\d+|'[^']*')?$/.test(index.trim())) continue;
      const cast = / as (?:keyof\b|never\b|[A-Z]\w*$)/.test(index);
      if (!tables.has(name) && !cast) continue;
      const around = lines.slice(Math.max(0, at - 2), at + 1).join('\n');
      if (around.includes(`Object.hasOwn(${name.startsWith('#') ? `this.${name}` : name},`))
        continue;
      found.push(`${path}:${at + 1}: ${line.trim()}`);
    }
    for (const [, name = ''] of line.matchAll(IN))
      if (tables.has(name)) found.push(`${path}:${at + 1}: ${line.trim()}`);
  }
  return found;
}
