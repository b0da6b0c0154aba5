/** The lines of `tacho audit --json` (SE-8): findings, parts that were not analysed, and the summary. */
import { type Static, Type } from 'typebox';
import { Count, Nullable, NullableInteger, NullableString, OneOf } from './parts.ts';
import { AUDIT_CATEGORIES, AUDIT_SEVERITIES, AUDIT_STATUSES } from './words.ts';

const Version = { schema_version: Type.Literal('tacho.audit.v1') };

/** The place of a finding in the records. */
const Place = {
  run_id: Type.String(),
  agent: Type.String(),
  session_id: NullableString,
  project: NullableString,
  /** Epoch milliseconds of the event; null if the record has no times. */
  at_ms: NullableInteger,
  /** The same, as RFC 3339. */
  time: NullableString,
  /** The number of the event: `tacho show RUN --at seq:N`. */
  seq: Type.Integer({ minimum: 1 }),
  call_id: Type.String(),
  tool: Type.String(),
};

export const AuditFinding = Type.Object({
  ...Version,
  kind: Type.Literal('finding'),
  rule: Type.String(),
  category: OneOf(AUDIT_CATEGORIES),
  severity: OneOf(AUDIT_SEVERITIES),
  /** The rule, for people. */
  about: Type.String(),
  ...Place,
  /** The command or the path, as stored: redacted, and shortened. */
  subject: Type.String(),
  /** ran: it ended well; failed: it ran and failed; denied: it did not run. */
  status: OneOf(AUDIT_STATUSES),
  /** The source of the approval, or the setting that made one unnecessary; null if unknown. */
  approved_by: NullableString,
  /** For `denied-then-done`: the number of the event with the denied call. */
  denied_seq: NullableInteger,
  /** More about this finding, for people. */
  detail: NullableString,
});
/** A call that meets a rule of the audit. */
export type AuditFinding = Static<typeof AuditFinding>;

export const AuditUnread = Type.Object({
  ...Version,
  kind: Type.Literal('not_analysed'),
  ...Place,
  /** The part of the command that could not be read, shortened. */
  subject: Type.String(),
  why: Type.String(),
});
/** A part of a call that the audit could not read: it is not known to be clean. */
export type AuditUnread = Static<typeof AuditUnread>;

export const ChainCheck = Type.Object({
  entries: Count,
  /** Hash of the last entry; null if there is none. */
  sha256: NullableString,
  /** Runs in the chain that exist with these events. */
  runs: Count,
  /** Runs that tacho removed, as the chain records. */
  removed: Type.Array(Type.Object({ run_id: Type.String(), at_ms: Type.Integer() })),
  /** Runs that are not in the chain yet, or have more events than there. */
  not_chained: Count,
  /** Breaks: entries or runs that are missing or changed. */
  faults: Type.Array(Type.String()),
});
/** The chain over runs, compared with the store. */
export type ChainCheck = Static<typeof ChainCheck>;

/** The records behind the result, and the rules. */
export const AuditSummary = Type.Object({
  ...Version,
  kind: Type.Literal('summary'),
  runs: Count,
  calls: Count,
  findings: Type.Object({ high: Count, medium: Count, low: Count, info: Count }),
  /** Findings by rule. */
  rules: Type.Record(Type.String(), Count),
  /** Findings beyond the limit: they are counted, but not listed. */
  findings_not_listed: Count,
  /** Calls by the source of their approval, or of their denial. */
  decisions: Type.Array(
    Type.Object({ decision: OneOf(['allow', 'deny'] as const), by: NullableString, calls: Count }),
  ),
  not_analysed: Count,
  /** Paths in commands with an unknown value, such as a variable. */
  unknown_paths: Count,
  completeness: Type.Object({
    /** Runs with gaps in their record. */
    with_gaps: Type.Array(Type.Object({ run_id: Type.String(), gaps: Type.Array(Type.String()) })),
    /** Audited runs without an end record. */
    unfinished: Type.Array(Type.String()),
    /** Runs that are not listed yet, and were not audited. */
    unlisted: Count,
    /** Runs with calls of which no input is stored. */
    without_inputs: Type.Array(Type.String()),
    /** Agents of the audited runs that never report denials, or never who decided. */
    agents_without_denials: Type.Array(Type.String()),
    agents_without_decisions: Type.Array(Type.String()),
    /** Runs with a record that cannot be read at all. */
    unreadable: Type.Array(Type.Object({ run_id: Type.String(), why: Type.String() })),
  }),
  /** The configuration that changed the rules. */
  changed_rules: Type.Array(
    Type.Object({
      path: Type.String(),
      /** Only runs of this project; null: all runs. */
      project: NullableString,
      added: Type.Array(Type.String()),
      off: Type.Array(Type.String()),
      /** Rules that the file asks to switch off, without consent: they stayed on. */
      refused: Type.Array(Type.String()),
    }),
  ),
  /** Parts beyond the limit: counted in `not_analysed`, but not listed. */
  not_analysed_not_listed: Count,
  /** The result of `--verify`; null if it was not asked for. */
  verified: Nullable(
    Type.Object({
      runs: Count,
      faults: Type.Array(Type.Object({ run_id: Type.String(), faults: Type.Array(Type.String()) })),
      /** The chain over runs; null if the store has none. */
      chain: Nullable(ChainCheck),
    }),
  ),
});
/** The counts of an audit, and how complete the records behind it are. */
export type AuditSummary = Static<typeof AuditSummary>;

export const AuditSchema = Type.Union([AuditFinding, AuditUnread, AuditSummary]);
