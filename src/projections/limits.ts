/** Bounds of projections, each with its reason. */
export const PROJECTION_LIMITS = {
  /** One message of a transcript, made of any number of pieces: as long as a record. The rest is in the next message. */
  transcript_message_chars_max: 8 * 1024 * 1024,
  /** Sub-agents of a transcript with an open message, far more than run at once, and the text of all of them. Beyond it
   * the message of the one silent for longest is ended. */
  open_speakers_max: 256,
  open_speakers_chars_max: 64 * 1024 * 1024,
  /** Calls that an outcome lists: some 25 MB in the index. All are counted, and the transcript has all of them. */
  outcome_calls_max: 100_000,
  /** Warnings in an outcome: more than anybody reads; the rest is counted. */
  outcome_warnings_max: 200,
  /** Calls that a report for CI lists, and characters of each text in it: more than anybody reads. All are counted. */
  report_calls_max: 1_000,
  report_chars_max: 300,
  /** Bytes of one warning: one readable line, not a dump. */
  warning_bytes_max: 500,
  /** Statuses that tacho makes for one call: a day of silence at one in ten seconds. */
  live_made_statuses_max: 8_640,
  /** Statuses that one moment may bring: a recording may leap over days with thousands of calls open. */
  live_statuses_at_once_max: 10_000,
  /** Characters of one text in a message; the rest is in the next message. Escaped one by one they still fit into a message. */
  live_part_chars_max: 1_000_000,
} as const;
