/** Limits of projections, each with its reason. */
export const PROJECTION_LIMITS = {
  /** Characters of one message of a transcript: as many as a record may have. The rest is in the next message. */
  transcript_message_chars_max: 8 * 1024 * 1024,
  /** Sub-agents of a transcript with an open message, far more than run concurrently, and their total text. Beyond
   * that, the message of the sub-agent that has been silent longest is ended. */
  open_speakers_max: 256,
  open_speakers_chars_max: 64 * 1024 * 1024,
  /** Calls that an outcome lists: about 25 MB in the index. All are counted, and the transcript has all of them. */
  outcome_calls_max: 100_000,
  /** Warnings in an outcome: more than anyone reads; the rest is counted. */
  outcome_warnings_max: 200,
  /** Calls that a report for CI lists, and characters per text: more than anyone reads. All calls are counted. */
  report_calls_max: 1_000,
  report_chars_max: 300,
  /** Rows of a run's usage by time and model: six weeks without a pause. The rest is one row without time and model. */
  usage_rows_max: 4_096,
  /** Characters of a model's name in them. */
  usage_model_chars: 256,
  /** Bytes of one warning: one readable line, not a dump. */
  warning_bytes_max: 500,
  /** Statuses that tacho makes for one call: one day of silence at one status per ten seconds. */
  live_made_statuses_max: 8_640,
  /** Statuses made in one step: a recording may skip days while thousands of calls are open. */
  live_statuses_at_once_max: 10_000,
  /** Calls of a run that are compared with another run: about 100 MB. Further calls are counted. */
  compared_calls_max: 100_000,
  /** Characters of a call's input that decide whether two calls are similar. Equality considers the whole input. */
  compared_input_chars: 1_024,
  /** Characters of a call's output in which times and folders are ignored. The rest must be equal. */
  compared_output_chars: 256 * 1024,
  /** Pairs of calls that are compared all with all: 500 by 500. */
  compared_pairs_max: 250_000,
  /** Calls on either side of the expected position, where a longer stretch is searched for the same call. */
  compared_window_calls: 128,
  /** Calls listed for one way at a place where runs part; all are counted. */
  parting_calls_max: 20,
  /** Characters of the command or path in a finding of the audit. The record has all of it. */
  audit_subject_chars: 500,
  /** Denied calls of a run that later calls are compared with, the last ones. */
  audit_denials_max: 500,
  /** Ended calls that later events of the audited run may still add facts to. */
  audit_ended_calls: 16,
  /** Characters of one text in a message, which fit even if each is escaped. The rest is in the next message. */
  live_part_chars_max: 1_000_000,
} as const;
