/** Bounds of the capture of a run, each with its reason. */
export const CAPTURE_LIMITS = {
  /** Bytes at the beginning of a followed file and before the place read to, compared to notice that it was cut. */
  tail_window_bytes: 4096,
  /** How long killed processes may take to disappear; one that stays is stuck in the kernel or another user's. */
  kill_wait_ms: 3_000,
  /** How long the last bytes of an agent may take from its pipe to the spool: at most 64 KiB are on the way. */
  drain_wait_ms: 5_000,
  /** Between two looks at the flags of a shell agent's pipes: some 50 µs each. */
  pipe_poll_ms: 50,
  /** A pipe of 64 KiB is full with half of that where each write takes a page of its own. */
  pipe_full_bytes_min: 32 * 1024,
  /** Longest pause between two looks at a process tree that is being ended; one look costs some 5 ms. */
  tree_poll_ms: 50,
  /** The whole comparison of a git work tree must not hold up a run. 100,000 files take 1.3 s, from a cold disk 4.4 s. */
  worktree_wait_ms: 10_000,
  /** Read of a git configuration for the remote: a hundred times a usual one. */
  git_config_bytes_max: 128 * 1024,
  /** Changed files of a work tree; more (a dependency folder nobody ignored) are not compared. */
  worktree_files_max: 20_000,
  /** What `git status` may print for those. */
  worktree_output_bytes_max: 16 * 1024 * 1024,
  /** A larger changed file is compared by size and time instead of content. */
  worktree_file_bytes_max: 8 * 1024 * 1024,
  /** All contents read for one snapshot: half a second of hashing. */
  worktree_read_bytes_max: 256 * 1024 * 1024,
  /** Inputs of open calls that are kept, each and together: a call whose input is not kept can be any other's. */
  open_input_chars_max: 1024 * 1024,
  open_inputs_chars_max: 32 * 1024 * 1024,
  /** Names of an agent's tools; the longest list seen had some 50. */
  tools_max: 1_000,
  tools_chars_max: 64 * 1024,
  /** How often a step repeats that list: up to these characters in all, and this share of the input. */
  step_tools_chars_free: 2 * 1024 * 1024,
  step_tools_input_share: 4,
  /** Lines of a channel that are no records and become an event each; further ones are counted, or put together. */
  series_lines_max: 1_000,
  /** Lines of stderr that are put together into one event. */
  series_text_bytes: 64 * 1024,
  /** Events of one run: hours of the busiest agent. Over it only the end of the run is recorded, and the rest is counted. */
  run_events_max: 10_000_000,
  /** Different calls that the loop guard remembers. */
  loop_guard_calls_max: 10_000,
} as const;
