/** A rule of the audit, as data. */
import type { AuditCategory, AuditSeverity } from '../../model/words.ts';

/** Commands that a rule is about. All given parts must match. */
export interface CommandMatch {
  /** The program and the words after it, without options: `git push`. `*` matches any text in a word. */
  command: string;
  /** At least one of these options: `-f` also in `-rf`, `--force*`. */
  options?: readonly string[] | undefined;
  /** None of these options. */
  unless?: readonly string[] | undefined;
  /** At least one other argument matches one of these globs. */
  args?: readonly string[] | undefined;
}

/** Conditions that need more than a table. */
type Special =
  | 'outside-read'
  | 'outside-write'
  | 'sql'
  | 'downloaded-code'
  | 'denied'
  | 'denied-then-done';

/** A rule of the audit. A call meets a rule if it meets any of the conditions. */
export interface AuditRule {
  /** Name of the rule, unique. */
  id: string;
  /** How bad it may be. */
  severity: AuditSeverity;
  /** Kind of finding. */
  category: AuditCategory;
  /** The finding, for people. */
  about: string;
  /** Commands in shell calls. */
  commands?: readonly CommandMatch[] | undefined;
  /** Globs of files: without a slash by name, `~/` in the home folder, `/` absolute, otherwise anywhere. */
  paths?: readonly string[] | undefined;
  /** Globs of files that do not count. */
  except?: readonly string[] | undefined;
  /** Only this kind of access to the files. `replace` is a write that removes the content. Default: any. */
  access?: 'read' | 'write' | 'replace' | undefined;
  /** Globs of tool names. */
  tools?: readonly string[] | undefined;
  /** A condition in code; only built-in rules have one. */
  special?: Special | undefined;
}
