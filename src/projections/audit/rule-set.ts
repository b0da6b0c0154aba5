/** Rules, prepared for many calls. Pure. */
import { globPattern } from '../../lib/glob.ts';
import { own } from '../../lib/own.ts';
import type { ShellCommand } from '../../lib/shell-inner.ts';
import { SHELLS } from '../../lib/shell-inner.ts';
import { commandsTest } from './commands.ts';
import { type Access, isOutside, type Places, pathPattern } from './paths.ts';
import type { AuditRule } from './rule.ts';
import { destructiveSql, sqlOf } from './sql.ts';

/** A part of a call that meets a rule. */
export interface Met {
  rule: AuditRule;
  /** The command or the path. */
  subject: string;
}

interface Prepared {
  rule: AuditRule;
  meetsCommand: (command: ShellCommand) => boolean;
  /** Null if the rule has none. */
  paths: RegExp | null;
  except: RegExp | null;
  tools: RegExp | null;
}

const DOWNLOADERS = new Set([
  'curl',
  'wget',
  'iwr',
  'irm',
  'invoke-webrequest',
  'invoke-restmethod',
]);
const RUNS_INPUT = /^(?:python|node|perl|ruby|php|iex|invoke-expression)[\d.]*$/;

/** `curl … | sh`, `sh -c "$(curl …)"`, `bash <(curl …)`. */
function runsDownload(command: ShellCommand): boolean {
  const runs = own(SHELLS, command.program) === true || RUNS_INPUT.test(command.program);
  if (!runs && !['eval', 'source', '.'].includes(command.program)) return false;
  for (let from = command.from; from !== null; from = from.from)
    if (DOWNLOADERS.has(from.program)) return true;
  return command.words.some(({ inner = [] }) =>
    inner.some((line) => DOWNLOADERS.has(line.trim().split(/\s/, 1)[0] ?? '')),
  );
}

/** A whole command as one line. */
const lineOf = ({ program, words, writes }: ShellCommand) =>
  [program, ...words.map(({ text }) => text), ...writes.map(({ text }) => `> ${text}`)].join(' ');

export type RuleSet = ReturnType<typeof createRuleSet>;

/** `rules`: the first rule of a category that a command or path meets is reported, so the worst come first. */
export function createRuleSet(rules: readonly AuditRule[]) {
  const prepared = rules.map(
    (rule): Prepared => ({
      rule,
      meetsCommand: commandsTest(rule.commands ?? []),
      paths: anyOf(rule.paths?.map(pathPattern)),
      except: anyOf(rule.except?.map(pathPattern)),
      tools: anyOf(rule.tools?.map((glob) => globPattern(glob, '[\\s\\S]'))),
    }),
  );
  const firsts = (met: (one: Prepared) => string | null): Met[] => {
    const seen = new Set<string>();
    const found: Met[] = [];
    for (const one of prepared) {
      const { rule } = one;
      // A user's own rule is never hidden by another one.
      const group = rule.category === 'custom' ? rule.id : rule.category;
      if (seen.has(group)) continue;
      const subject = met(one);
      if (subject === null) continue;
      seen.add(group);
      found.push({ rule, subject });
    }
    return found;
  };
  return {
    special: (name: AuditRule['special']) =>
      rules.find((rule) => rule.special === name && name !== undefined) ?? null,
    tool: (tool: string, about: string) =>
      firsts(({ tools }) => (tools?.test(tool) ? about : null)),
    command: (command: ShellCommand) =>
      firsts(({ rule, meetsCommand }) => {
        if (meetsCommand(command)) return lineOf(command);
        if (rule.special === 'downloaded-code' && runsDownload(command))
          return `${command.from === null ? '' : `${lineOf(command.from)} | `}${lineOf(command)}`;
        if (rule.special !== 'sql') return null;
        const sql = sqlOf(command).find((text) => destructiveSql(text) !== null);
        return sql === undefined ? null : `${command.program}: ${destructiveSql(sql)}`;
      }),
    path: (access: Access, places: Places) =>
      firsts(({ rule, paths, except }) => {
        const { path, how } = access;
        const outside =
          (rule.special === 'outside-read' && how === 'read') ||
          (rule.special === 'outside-write' && how !== 'read');
        if (outside) return isOutside(access, places) ? path : null;
        const wanted = rule.access ?? how;
        if (wanted !== how && !(wanted === 'write' && how === 'replace')) return null;
        const meets = (pattern: RegExp | null) =>
          pattern !== null && (pattern.test(path) || (isOpen(path) && pattern.test(bare(path))));
        return meets(paths) && !meets(except) ? path : null;
      }),
  };
}

/** `cat .env*` uses `.env`. */
const isOpen = (path: string) => /[*?]$/.test(path);
const bare = (path: string) => path.replace(/[*?]+$/, '');

const anyOf = (patterns: readonly string[] | undefined) =>
  patterns === undefined ? null : new RegExp(patterns.map((one) => `(?:${one})`).join('|'));
