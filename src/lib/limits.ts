/**
 * Bounds that more than one folder keeps, each with its reason. Those of one folder are in its own `limits.ts`. Every
 * excess is counted and reported.
 */
export const LIMITS = {
  /** A record longer than this is cut, hashed and reported. The longest real line seen was 0.45 MB. */
  line_bytes_max: 8 * 1024 * 1024,
  /** How much of a line that could not be read is kept in its problem event; the rest is in the spool and the hash. */
  excerpt_bytes_max: 4096,
  /** What is read of a line over the limit, so that an excerpt of it can be redacted before it is cut. */
  excerpt_read_bytes: 64 * 1024,
  /** What a problem says of itself; names of foreign records may be part of it. */
  problem_detail_bytes_max: 300,
  /** JSON.stringify fails near depth 4,000 and SQLite's JSON at 1,000; no agent nests beyond 20. */
  depth_max: 200,
  /** Shorter lines are parsed first and measured after: their nesting cannot cost more than some 50 ms. */
  depth_scan_from_bytes: 64 * 1024,
  /** One read of the spool: large enough for 500 MB/s, small enough for flat memory. */
  read_chunk_bytes: 256 * 1024,
  /** File watching may miss a change; the poll finds it. */
  tail_poll_ms: 100,
  /** Tokens in one figure of an agent: a thousand times what any run has used. More, or less than 0, is no figure. */
  tokens_max: 1e12,
  /** The same for a cost in USD. */
  cost_usd_max: 1e6,
  /** The same for the time that a call took: a year. */
  call_ms_max: 366 * 86_400_000,
  /** Times of records: from 2000-01-01 to the end of 9999. Outside of it is no agent's clock, and later no date of ISO 8601. */
  time_ms_min: Date.UTC(2000, 0, 1),
  time_ms_max: Date.UTC(10_000, 0, 1) - 1,
  /** Calls without a result that are kept open; beyond it the oldest is given up. */
  open_calls_max: 10_000,
  /** An id, or the name of a tool, a model or a mode: it is repeated on many events. As in the journal. */
  name_chars_max: 1_024,
  /** Finished calls that are remembered, so that late facts and ids used twice are recognised. */
  calls_remembered_max: 5_000,
  /** Output that waits, as drafts, for the run's first sure moment. */
  waiting_bytes_max: 4 * 1024 * 1024,
  /** Drafts that wait for the run's first sure moment (its session record, or its first native time). */
  waiting_drafts_max: 1_000,
  /** Events of one session that a journal takes: those of a run, and room for its end with all open calls. */
  session_events_max: 10_100_000,
  /** Of a final output; its pieces come from any number of messages. */
  final_output_chars_max: 16 * 1024 * 1024,
  /** Input of a conversion after which garbage is collected: 10 ms each time, and memory stays flat. */
  collect_every_bytes: 96 * 1024 * 1024,
  /** Calls that ask for a skill, remembered for the list of used skills; a run uses a handful. */
  skill_uses_max: 10_000,
  /** Characters of their names and ids. */
  skill_uses_chars_max: 4 * 1024 * 1024,
  /** Paths in an outcome's artifacts: an outcome stays one small object; the rest is counted. */
  artifacts_max: 10_000,
  /** Characters of these paths; real ones have some 60 each. */
  artifacts_chars_max: 16 * 1024 * 1024,
  /** Files that one command line is found to read; each may be as long as a path, of a line of 64 KiB. */
  shell_reads_max: 1_000,
  /** A path put together from folders: Linux opens none that is longer. */
  path_chars_max: 4_096,
  /** Finished calls that a late update can still reach: half of it is all that `calls_remembered_max` lets through; a
   * larger map is slower for every call. Updates of older calls are counted. */
  settled_calls_max: 20_000,
  /** Of YAML, which takes some 2 s per MiB to read: tacho.yaml, and eval files; longer lists of cases are JSONL. */
  config_bytes_max: 256 * 1024,
  eval_yaml_bytes_max: 2 * 1024 * 1024,
  /** Aliases in a YAML file: a walk through all anchors per alias. */
  yaml_aliases_max: 1_000,
  /** Values that all aliases of a YAML file stand for: far more than anybody repeats by hand. */
  yaml_added_max: 100_000,
  /** Mistakes in one file that are reported at once; the others are counted. */
  mistakes_max: 20,
  /** A message of the live protocol; as for every other line. */
  live_message_bytes_max: 8 * 1024 * 1024,
  /** Ids of sessions, calls and messages: those of open calls are kept. As in the journal. */
  live_id_chars_max: 1_024,
  /** Sessions that a collector has open at once. */
  live_sessions_max: 1_000,
  /** Calls of one session that are open at once; agents run a handful. */
  live_open_calls_max: 10_000,
  /** Open calls of all sessions that a collector watches, and the characters of their ids: some 30 MB. Three quarters of
   * it are for transports that others can reach; one connection has a quarter of its transports' part. */
  live_calls_max: 100_000,
  live_call_chars_max: 16 * 1024 * 1024,
  /** A call that runs longer is reported, and then again at this interval. */
  live_status_first_ms: 5_000,
  live_status_every_ms: 10_000,
  /** A call without a sign of life is given up. */
  live_abandoned_ms: 300_000,
  /** Texts that are being spoken at once: one per agent and per sub-agent. */
  live_open_texts_max: 256,
  /** Open calls that a snapshot names; all of them are counted. */
  live_open_calls_named_max: 1_000,
  /** A larger difference of the clocks of both ends is reported. */
  live_skew_ms_max: 100,
} as const;
