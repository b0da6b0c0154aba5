/** Statements of SQL that drop or empty a table. Comments and strings are removed first, never searched. Pure. */
import type { ShellCommand } from '../../lib/shell-inner.ts';

const CLIENTS = new Set([
  'psql',
  'mysql',
  'mariadb',
  'sqlite3',
  'sqlcmd',
  'duckdb',
  'clickhouse-client',
  'cockroach',
  'bq',
]);
const SQL_CHARS_MAX = 65_536;
/** Strings and quoted names, or comments. */
const QUOTED = /'(?:[^']|'')*'|"[^"]*"|`[^`]*`|(--[^\n]*|\/\*[\s\S]*?\*\/)/g;
const withoutQuoted = (text: string) =>
  text.replace(QUOTED, (_, comment: string | undefined) => (comment === undefined ? '""' : ' '));
const DROPS =
  /^(?:drop (?:table|database|schema|index|view|materialized|user|role|type|function|owned|all)|truncate |delete from (?!.* where )|alter table .* drop |update (?!.* where ).* set )/;

/** The first such statement in the SQL text; null if there is none. */
export function destructiveSql(text: string): string | null {
  for (const statement of withoutQuoted(text.slice(0, SQL_CHARS_MAX)).split(';')) {
    const plain = `${statement.replace(/\s+/g, ' ').trim()} `;
    if (DROPS.test(plain.toLowerCase())) return plain.trim();
  }
  return null;
}

/** SQL in the arguments or the input of a client. */
export function sqlOf({ program, words, document, from }: ShellCommand): string[] {
  if (!CLIENTS.has(program)) return [];
  const said = from !== null && ['echo', 'printf'].includes(from.program) ? from.words : [];
  const texts = [...words, ...said].map(({ text }) => text.replace(/^--?\w+=/, ''));
  return document === null ? texts : [...texts, document];
}
