/** Bounds of evals, each with its reason. */
export const EVAL_LIMITS = {
  /** Expected steps times calls that a trajectory compares: 16 MB, and some 50 ms. */
  trajectory_cells_max: 4_000_000,
  /** Facts that one verdict carries; more say nothing more. */
  evidence_max: 200,
  /** Time of a code grader or of a judging model, where the eval file gives none. */
  grader_ms_default: 60_000,
  /** The part of a run that a judging model is shown. */
  judged_chars_max: 60_000,
} as const;
