/** Limits of the full-screen views, each with its reason. */
export const TUI_LIMITS = {
  /** Lines of a run that the view keeps, about 10 MB; the complete run is in the journal. */
  rows_max: 20_000,
  /** Characters of one line of text in the view; the rest is in the next line. */
  row_chars_max: 1_000,
  /** Characters of an input, an output or a diff that can be opened; `tacho show --full` prints all of it. */
  part_chars_max: 256 * 1024,
  /** Characters of all inputs and outputs that the view keeps; beyond it those of the oldest calls are dropped. */
  parts_chars_max: 16 * 1024 * 1024,
  /** Calls that later events, such as a sub-agent's, can still refer to. */
  calls_known_max: 5_000,
  /** Runs in the list of past runs, about 10 MB; `tacho runs list --limit all` prints all of them. */
  runs_max: 20_000,
  /** Characters of a search: more than a line holds. */
  search_chars_max: 200,
  /** Time between two paints: 30 per second look smooth and cost little. */
  paint_ms: 33,
  /** Time between two paints of the spinner and elapsed times. */
  tick_ms: 100,
  /** An escape byte alone for this time is the Escape key; terminals send a sequence without pauses. */
  escape_ms: 50,
  /** Time until a suspended process is stopped for certain. */
  suspend_ms: 100,
  /** Time between two looks for new runs: a person notices no delay, and a look costs little. */
  refresh_ms: 2_000,
} as const;
