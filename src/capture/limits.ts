/** Limits of capture, each with its reason. */
export const CAPTURE_LIMITS = {
  /** Bytes at the beginning of a followed file and before the read position that are compared to detect truncation. */
  tail_window_bytes: 4096,
  /** How long killed processes may take to disappear. A process that remains is stuck in the kernel or owned by another user. */
  kill_wait_ms: 3_000,
  /** How long an agent's last bytes may take from its pipe to the spool: at most 64 KiB are in transit. */
  drain_wait_ms: 5_000,
  /** Interval between checks of the flags of a shell agent's pipes. A check takes about 50 µs. */
  pipe_poll_ms: 50,
  /** A 64 KiB pipe can be full with half of that if each write occupies a separate page. */
  pipe_full_bytes_min: 32 * 1024,
  /** Longest pause between two checks of a process tree that is being terminated. A check takes about 5 ms. */
  tree_poll_ms: 50,
  /** Comparing a git work tree must not delay a run. 100,000 files take 1.3 s, 4.4 s from a cold disk. */
  worktree_wait_ms: 10_000,
  /** Bytes of a git configuration that are read to find the remote: a hundred times the usual size. */
  git_config_bytes_max: 128 * 1024,
  /** Changed files in a work tree. If there are more (for example an unignored dependency folder), they are not compared. */
  worktree_files_max: 20_000,
  /** Output of `git status` for those files. */
  worktree_output_bytes_max: 16 * 1024 * 1024,
  /** A larger changed file is compared by size and time instead of content. */
  worktree_file_bytes_max: 8 * 1024 * 1024,
  /** Total bytes read for one snapshot: half a second of hashing. */
  worktree_read_bytes_max: 256 * 1024 * 1024,
  /** Inputs of open calls that are kept, per call and in total. A call without a kept input may match any other. */
  open_input_chars_max: 1024 * 1024,
  open_inputs_chars_max: 32 * 1024 * 1024,
  /** Names of an agent's tools. The longest list seen had about 50. */
  tools_max: 1_000,
  tools_chars_max: 64 * 1024,
  /** Total characters up to which steps repeat that list, and the share of the input beyond that. */
  step_tools_chars_free: 2 * 1024 * 1024,
  step_tools_input_share: 4,
  /** Lines of a channel that are not records and become one event each. Further lines are counted or combined. */
  series_lines_max: 1_000,
  /** Lines of stderr that are combined into one event. */
  series_text_bytes: 64 * 1024,
  /** Events of one run: hours of the busiest agent. Beyond this, only the end of the run is recorded; the rest is counted. */
  run_events_max: 10_000_000,
  /** Different calls that the loop guard remembers. */
  loop_guard_calls_max: 10_000,
} as const;
