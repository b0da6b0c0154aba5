/**
 * Limits that several folders use, each with its reason. Limits of a single folder are in its own `limits.ts`. Data
 * beyond a limit is counted and reported.
 */
export const LIMITS = {
  /** A longer record is truncated, hashed and reported. The longest real line seen was 0.45 MB. */
  line_bytes_max: 8 * 1024 * 1024,
  /** Size of the excerpt of an unreadable line in its problem event. The event also has the hash of the complete line. */
  excerpt_bytes_max: 4096,
  /** Bytes read from a line over the limit, so that its excerpt can be redacted before it is truncated. */
  excerpt_read_bytes: 64 * 1024,
  /** Length of a problem's detail, which may contain names of foreign records. */
  problem_detail_bytes_max: 300,
  /** JSON.stringify fails near depth 4,000 and SQLite's JSON at 1,000; no agent nests deeper than 20. */
  depth_max: 200,
  /** Shorter lines are parsed before their nesting is checked: parsing takes at most about 50 ms. */
  depth_scan_from_bytes: 64 * 1024,
  /** Size of one read of the spool: large enough for 500 MB/s, small enough for flat memory. */
  read_chunk_bytes: 256 * 1024,
  /** File watching may miss a change; polling finds it. */
  tail_poll_ms: 100,
  /** Tokens in one figure of an agent: a thousand times what any run has used. Higher and negative values are refused. */
  tokens_max: 1e12,
  /** The same for a cost in USD. */
  cost_usd_max: 1e6,
  /** The same for the duration of a call: a year. */
  call_ms_max: 366 * 86_400_000,
  /** Times of records: from 2000-01-01 to the end of 9999. All agents' clocks are in this range, and ISO 8601 ends there. */
  time_ms_min: Date.UTC(2000, 0, 1),
  time_ms_max: Date.UTC(10_000, 0, 1) - 1,
  /** Open calls without a result. Beyond this, the oldest is closed as unfinished. */
  open_calls_max: 10_000,
  /** Length of an id, or of the name of a tool, a model or a mode: many events repeat it. The same as in the journal. */
  name_chars_max: 1_024,
  /** Finished calls that are remembered to recognise late facts and reused ids. */
  calls_remembered_max: 5_000,
  /** Bytes of output held as drafts until the run has its first reliable time. */
  waiting_bytes_max: 4 * 1024 * 1024,
  /** Drafts held until the run has its first reliable time (its session record, or its first native time). */
  waiting_drafts_max: 1_000,
  /** Events of one session in a journal: the events of a run, plus room for its end with all open calls. */
  session_events_max: 10_100_000,
  /** Length of a final output, which may consist of any number of messages. */
  final_output_chars_max: 16 * 1024 * 1024,
  /** A conversion collects garbage after this much input: takes 10 ms each time, and memory stays flat. */
  collect_every_bytes: 96 * 1024 * 1024,
  /** Calls that request a skill, remembered for the list of used skills. A run uses only a few. */
  skill_uses_max: 10_000,
  /** Total characters of their names and ids. */
  skill_uses_chars_max: 4 * 1024 * 1024,
  /** Paths in an outcome's artifacts, so that an outcome stays small. The others are counted. */
  artifacts_max: 10_000,
  /** Total characters of these paths. Real paths have about 60 each. */
  artifacts_chars_max: 16 * 1024 * 1024,
  /** Files read by one command line of up to 64 KiB. Each name may be as long as a path. */
  shell_reads_max: 1_000,
  /** Length of a path. Linux cannot open a longer one. */
  path_chars_max: 4_096,
  /** Finished calls that late updates can still reach: twice `calls_remembered_max`, because the map drops its older half.
   * A larger map is slower for every call. Updates of older calls are counted. */
  settled_calls_max: 20_000,
  /** Size of a YAML file (tacho.yaml, eval files): parsing takes about 2 s per MiB. Use JSONL for long lists of cases. */
  config_bytes_max: 256 * 1024,
  eval_yaml_bytes_max: 2 * 1024 * 1024,
  /** Aliases in a YAML file: each costs a walk through all anchors. */
  yaml_aliases_max: 1_000,
  /** Values that all aliases of a YAML file expand to: far more than anyone needs. */
  yaml_added_max: 100_000,
  /** Reported mistakes per file. Further mistakes are counted. */
  mistakes_max: 20,
  /** Size of a live protocol message: the same as for every other line. */
  live_message_bytes_max: 8 * 1024 * 1024,
  /** Length of the ids of sessions, calls and messages, which are kept for open calls. The same as in the journal. */
  live_id_chars_max: 1_024,
  /** Open sessions per collector. */
  live_sessions_max: 1_000,
  /** Open calls per session. Agents run only a few in parallel. */
  live_open_calls_max: 10_000,
  /** Open calls of all sessions of a collector, and the characters of their ids: about 30 MB. Three quarters are for
   * transports that others can reach. One connection may use a quarter of its transports' share. */
  live_calls_max: 100_000,
  live_call_chars_max: 16 * 1024 * 1024,
  /** A call that runs longer is reported, and then again at this interval. */
  live_status_first_ms: 5_000,
  live_status_every_ms: 10_000,
  /** A call without any message for this long is closed as unfinished. */
  live_abandoned_ms: 300_000,
  /** Texts in progress at the same time: one per agent and sub-agent. */
  live_open_texts_max: 256,
  /** Open calls that a snapshot lists. All are counted. */
  live_open_calls_named_max: 1_000,
  /** A larger difference between the clocks of the two ends is reported. */
  live_skew_ms_max: 100,
} as const;
