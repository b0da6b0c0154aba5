/** Limits of evals, each with its reason. */
export const EVAL_LIMITS = {
  /** Expected steps times calls that a trajectory compares: 16 MB and about 50 ms. */
  trajectory_cells_max: 4_000_000,
  /** Facts in one verdict: more would not add information. */
  evidence_max: 200,
  /** Default time limit of a code grader or of a judging model. */
  grader_ms_default: 60_000,
  /** Characters of a run that a judging model receives. */
  judged_chars_max: 60_000,
} as const;
