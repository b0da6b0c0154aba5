/** Bounds of the live view, each with its reason. */
export const TUI_LIMITS = {
  /** Lines the live view can be scrolled back; the whole run is in the journal. */
  rows_max: 5_000,
  /** Characters of one line of text in the live view; the rest is in the next line. */
  row_chars_max: 1_000,
  /** Between two paints of the live view: 30 a second look smooth and cost little. */
  paint_ms: 33,
} as const;
