/** Every bound of the system, in one place, each with its reason. Going over one is counted and said. */
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
  /** What an agent notes beside a session file: some ids. */
  session_meta_bytes_max: 64 * 1024,
  /** Bytes at the beginning of a followed file and before the place read to, compared to notice that it was cut. */
  tail_window_bytes: 4096,
  /** File watching may miss a change; the poll finds it. */
  tail_poll_ms: 100,
  /** Between asking a process tree to end and killing it. */
  kill_grace_ms: 5_000,
  /** How long processes that outlive the agent may go on before they are ended. */
  leftover_wait_ms: 2_000,
  /** What they may write to each channel meanwhile: far more than a pipe holds of the agent's own last output. */
  leftover_bytes_max: 8 * 1024 * 1024,
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
  /** Changed files of a work tree; more (a dependency folder nobody ignored) are not compared. */
  worktree_files_max: 20_000,
  /** What `git status` may print for those. */
  worktree_output_bytes_max: 16 * 1024 * 1024,
  /** A larger changed file is compared by size and time instead of content. */
  worktree_file_bytes_max: 8 * 1024 * 1024,
  /** All contents read for one snapshot: half a second of hashing. */
  worktree_read_bytes_max: 256 * 1024 * 1024,
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
  /** Inputs of open calls that are kept, each and together: a call whose input is not kept can be any other's. */
  open_input_chars_max: 1024 * 1024,
  open_inputs_chars_max: 32 * 1024 * 1024,
  /** An id, or the name of a tool, a model or a mode: it is repeated on many events. As in the journal. */
  name_chars_max: 1_024,
  /** Names of an agent's tools; the longest list seen had some 50. */
  tools_max: 1_000,
  tools_chars_max: 64 * 1024,
  /** How often a step repeats that list: up to these characters in all, and this share of the input. */
  step_tools_chars_free: 2 * 1024 * 1024,
  step_tools_input_share: 4,
  /** Finished calls that are remembered, so that late facts and ids used twice are recognised. */
  calls_remembered_max: 5_000,
  /** Lines of a channel that are no records and become an event each; further ones are counted, or put together. */
  series_lines_max: 1_000,
  /** Lines of stderr that are put together into one event. */
  series_text_bytes: 64 * 1024,
  /** Output that waits, as drafts, for the run's first sure moment. */
  waiting_bytes_max: 4 * 1024 * 1024,
  /** Drafts that wait for the run's first sure moment (its session record, or its first native time). */
  waiting_drafts_max: 1_000,
  /** A journal segment is closed at this size and the next begun. */
  segment_bytes_max: 64 * 1024 * 1024,
  /** One journal entry: an event made of the longest line, every character of it escaped. */
  entry_bytes_max: 64 * 1024 * 1024,
  /** One group commit: large enough for the disk's full rate, small enough not to hold up the event loop. */
  journal_group_bytes_max: 4 * 1024 * 1024,
  /** What may wait for the disk; beyond it appends are refused as busy. Callers wait for their appends. */
  journal_queue_bytes_max: 256 * 1024 * 1024,
  /** Sessions whose hashes a journal keeps in memory; the one unused longest is read again when needed. */
  journal_sessions_max: 1_000,
  /** Session and source ids in the journal. */
  journal_id_chars_max: 1_024,
  /** Segments a follower looks at in every poll; the others in every tenth. */
  follow_segments_hot: 64,
  /** How long a command waits for another one that changes the store before it is refused. */
  lock_wait_ms: 10_000,
  /** Between two tries to take a lock. */
  lock_poll_ms: 50,
  /** What a reading command reads into the index without a word: less than half a second. */
  catch_up_quiet_bytes: 64 * 1024 * 1024,
  /** What an archive may unpack to, however small it is; beyond that the ratio below counts. */
  restore_free_bytes: 64 * 1024 * 1024,
  /** How many times its own size an archive may unpack to. Archives of real runs reach 10 to 50. */
  restore_ratio_max: 200,
  /** Runs of one archive: what is known of each while it is read takes about 1 kB. */
  restore_runs_max: 100_000,
  /** Restored entries that are written together, and runs that become visible together. */
  restore_flush_bytes: 4 * 1024 * 1024,
  restore_flush_entries: 512,
  restore_flush_runs: 64,
  /** A database up to this size is checked whole when it is opened: some 2 ms a MiB. */
  index_check_bytes_max: 4 * 1024 * 1024,
  /** How much of a prompt a row of the runs list carries; the outcome has all of it. */
  prompt_preview_chars: 500,
  /** Events of one run: hours of the busiest agent. Over it only the end of the run is recorded, and the rest is counted. */
  run_events_max: 10_000_000,
  /** Events of one session that a journal takes: those of a run, and room for its end with all open calls. */
  session_events_max: 10_100_000,
  /** Of a final output; its pieces come from any number of messages. */
  final_output_chars_max: 16 * 1024 * 1024,
  /** What is kept of each text in an event that is over `entry_bytes_max`. */
  cut_text_chars: 64 * 1024,
  /** One message of a transcript, made of any number of pieces: as long as a record. The rest is in the next message. */
  transcript_message_chars_max: 8 * 1024 * 1024,
  /** Sub-agents of a transcript with an open message, far more than run at once, and the text of all of them. Beyond it
   * the message of the one silent for longest is ended. */
  open_speakers_max: 256,
  open_speakers_chars_max: 64 * 1024 * 1024,
  /** Calls that an outcome lists: some 25 MB in the index. All are counted, and the transcript has all of them. */
  outcome_calls_max: 100_000,
  /** Calls of an outcome held in memory before they go to a temporary file: a session of 1 GB stays flat. */
  spill_memory_bytes: 4 * 1024 * 1024,
  /** A temporary file: far more than any reader of a transcript takes. A transcript over it is dropped and reported. */
  spill_bytes_max: 4 * 1024 * 1024 * 1024,
  /** Input of a conversion after which garbage is collected: 10 ms each time, and memory stays flat. */
  collect_every_bytes: 96 * 1024 * 1024,
  /** What a new run recovers by itself of a killed one: more takes seconds, and is left for `tacho runs recover`. */
  auto_recover_bytes_max: 32 * 1024 * 1024,
  /** All automatic recoveries of one start together; they run beside the new run and are ended after this time. */
  auto_recover_ms: 10_000,
  /** Automatic attempts at one spool; one that failed this often waits for `tacho runs recover`. */
  auto_recover_attempts_max: 3,
  /** A file in the making that nobody wrote for this long, and of a dead process, is removed; writing one takes seconds. */
  unfinished_file_ms: 60_000,
  /** An older one is removed whether or not a process has the pid of its maker. */
  unfinished_file_ms_max: 86_400_000,
  /** Between two attempts at a run, however many there were. */
  retry_wait_ms_max: 60_000,
  /** Different calls that the loop guard remembers. */
  loop_guard_calls_max: 10_000,
  /** A message that our own client of a protocol reads whole; the longest seen had 0.6 MB. A longer one is not answered. */
  message_bytes_max: 64 * 1024 * 1024,
  /** The longest that a timer of Node's can wait, nearly 25 days; a longer one would go off at once. */
  timeout_ms_max: 2 ** 31 - 1,
  /** A prompt read from stdin. */
  prompt_bytes_max: 64 * 1024 * 1024,
  /** A spool's meta.json: the longest prompt with every character escaped, and 16 MiB for the rest. */
  spool_meta_bytes_max: 144 * 1024 * 1024,
  /** Text held back so that a secret split over deltas is still seen. */
  redaction_hold_chars: 4096,
  /** Each takes its time on every text, and a clone may bring them. */
  redaction_patterns_max: 64,
  /** Calls that ask for a skill, remembered for the list of used skills; a run uses a handful. */
  skill_uses_max: 10_000,
  /** Characters of their names and ids. */
  skill_uses_chars_max: 4 * 1024 * 1024,
  /** Warnings in an outcome: more than anybody reads; the rest is counted. */
  outcome_warnings_max: 200,
  /** Bytes of one warning: one readable line, not a dump. */
  warning_bytes_max: 500,
  /** Paths in an outcome's artifacts: an outcome stays one small object; the rest is counted. */
  artifacts_max: 10_000,
  /** Characters of these paths; real ones have some 60 each. */
  artifacts_chars_max: 16 * 1024 * 1024,
  /** Files that one command line is found to read; each may be as long as a path, of a line of 64 KiB. */
  shell_reads_max: 1_000,
  /** A command line that is split into its words. Linux takes no script over 128 KiB; quotes may double it. */
  split_line_chars_max: 256 * 1024,
  /** A path put together from folders: Linux opens none that is longer. */
  path_chars_max: 4_096,
  /** Finished calls that a late update can still reach: half of it is all that `calls_remembered_max` lets through; a
   * larger map is slower for every call. Updates of older calls are counted. */
  settled_calls_max: 20_000,
  /** A text said to a running agent: agents repeat it in their records, which have room for it. */
  input_bytes_max: 1024 * 1024,
  /** Texts that an agent has not taken up; whoever says more waits until it has. */
  input_waiting_max: 100,
  /** An agent that rests and leaves a text unread has its stdin closed after this time: what came before the end is read. */
  input_wait_ms: 10_000,
  /** How long a question whether a call may run waits for somebody's answer before the approval mode refuses it. */
  confirm_wait_ms: 120_000,
  /** A prompt that the built-in agent repeats whole in its records; of a longer one only size and hash. */
  echoed_prompt_bytes_max: 1024 * 1024,
  /** Lines the live view can be scrolled back; the whole run is in the journal. */
  tui_rows_max: 5_000,
  /** Characters of one line of text in the live view; a longer one goes on in the next. */
  tui_row_chars_max: 1_000,
  /** Between two paints of the live view: 30 a second look smooth and cost little. */
  tui_paint_ms: 33,
  /** Prompts of sub-agents held until a session file without a parent's id claims one; more never run at once. */
  unclaimed_prompts_max: 256,
  /** Kinds of drift that are listed: an adapter that knows nothing of a file has said so long before. */
  drift_findings_max: 200,
  /** One line of a transcript file: what a string can hold, and far beyond any run worth grading. */
  transcript_line_bytes_max: 256 * 1024 * 1024,
  /** An eval file, or one of cases or a prompt that it names: written by hand or by a small script. */
  eval_file_bytes_max: 16 * 1024 * 1024,
  /** Of YAML, which takes some 2 s per MiB to read: tacho.yaml, and eval files; longer lists of cases are JSONL. */
  config_bytes_max: 256 * 1024,
  eval_yaml_bytes_max: 2 * 1024 * 1024,
  /** Aliases in a YAML file: each one costs a walk through all anchors. */
  yaml_aliases_max: 1_000,
  /** Values that all aliases of a YAML file stand for: far more than anybody repeats by hand. */
  yaml_added_max: 100_000,
  /** Mistakes in one file that are reported at once; the others are counted. */
  mistakes_max: 20,
  /** Expected steps times calls that a trajectory compares: 16 MB, and some 50 ms. */
  trajectory_cells_max: 4_000_000,
  /** Agents or gradings at a time: more than a machine has room for. */
  eval_workers_max: 256,
  /** Facts that one verdict carries; more say nothing more. */
  evidence_max: 200,
  /** How long one pattern of an eval may take on one text. */
  regex_ms_max: 2_000,
  /** How long the output of a code grader that has ended is read on, where another process holds it open. */
  grader_drain_ms: 1_000,
  /** What a code grader may print: a verdict is small. */
  grader_output_bytes_max: 1024 * 1024,
  /** Time of a code grader or of a judging model, where the eval file gives none. */
  grader_ms_default: 60_000,
  /** The answer of a judging model. */
  model_answer_bytes_max: 1024 * 1024,
  /** What a judging model is shown of a run. */
  judged_chars_max: 60_000,
  /** A message of the live protocol; as for every other line. */
  live_message_bytes_max: 8 * 1024 * 1024,
  /** Ids of sessions, calls and messages: those of open calls are kept. As in the journal. */
  live_id_chars_max: 1_024,
  /** A filter of a subscription, as JSON: some 2,000 session ids. */
  live_filter_chars_max: 64 * 1024,
  /** Connections to a collector: one a running agent and one a watcher; 1,000 idle ones cost some 20 MB. */
  live_connections_max: 2_048,
  /** Of these, only for peers on private transports: others cannot lock the owner out. */
  live_private_connections: 512,
  /** Connections without a handshake on transports that others can reach: half of the places; beyond it the oldest is
   * closed. Peers say hello at once. */
  live_ungreeted_max: 1_024,
  /** Sessions that a collector has open at once. */
  live_sessions_max: 1_000,
  /** Of these, only for peers on private transports; a connection on other transports may open a quarter of all. */
  live_private_sessions: 256,
  /** Calls of one session that are open at once; agents run a handful. */
  live_open_calls_max: 10_000,
  /** Open calls of all sessions that a collector watches, and the characters of their ids: some 30 MB. Three quarters of
   * it are for transports that others can reach; one connection has a quarter of its transports' part. */
  live_calls_max: 100_000,
  live_call_chars_max: 16 * 1024 * 1024,
  /** Messages a sender may have under way to a collector. */
  live_credits: 1_024,
  /** What may wait to be written to one peer before it counts as slow. */
  live_backlog_bytes_max: 1024 * 1024,
  /** Subscriptions of one connection. */
  live_subscriptions_max: 64,
  /** Both ends say that they live; after three that are missed the other one is gone. */
  live_heartbeat_ms: 30_000,
  live_heartbeats_missed_max: 3,
  /** A connection that says nothing of itself is closed. */
  live_hello_ms: 30_000,
  /** How long a connection may take to come about before it is tried again. */
  live_dial_ms: 10_000,
  /** Between two tries to reach a collector; doubled each time up to the second. */
  live_retry_ms: 1_000,
  live_retry_ms_max: 60_000,
  /** How long a run that has ended waits for its last acknowledgements; the outbox keeps what is not delivered. */
  live_last_acks_ms: 5_000,
  /** How long the end of a command waits for what others left in the outbox. */
  live_deliver_ms: 1_000,
  /** What a connection may send before its handshake: unknown peers must not fill the memory. */
  live_hello_bytes_max: 64 * 1024,
  /** Lines before the handshake: each is answered with an error. */
  live_hello_lines_max: 16,
  /** An unfinished line up to this size needs no place among the long ones: what one read brings. */
  live_short_line_bytes: 64 * 1024,
  /** Longer lines that are read at a time, so that unfinished ones take 64 MiB at most; others wait. */
  live_long_lines_max: 8,
  /** Of these places, only for peers on private transports. */
  live_long_lines_private: 2,
  /** Lines that wait for a place, each with what two reads bring: 64 MiB. The line of one more is refused. */
  live_long_lines_waiting_max: 512,
  /** While others wait, a long line that brings nothing for this time is refused: the sooner the more wait, down to the
   * second time. */
  live_line_stall_ms: 1_000,
  live_line_stall_ms_min: 50,
  /** The same for one that takes longer than this time and its bytes at this rate. */
  live_line_ms: 2_000,
  live_line_bytes_per_ms: 256,
  /** Lines in a row that are no messages: whoever sends more is no peer, and reading them takes time from the others. */
  live_faulty_lines_max: 10_000,
  /** Answers to all peers that wait to be written; beyond it errors are left out for those that do not read. */
  live_backlog_all_bytes_max: 16 * 1024 * 1024,
  /** What one connection may have waiting for the disk before it is read no further; two of the longest messages. */
  live_pending_bytes_max: 16 * 1024 * 1024,
  /** The same of all connections: half of what the journal's queue takes. */
  live_pending_all_bytes_max: 128 * 1024 * 1024,
  /** What a collector reads before it collects its garbage, ten times as much: some 10 ms each time, and memory stays flat. */
  live_collect_bytes: 2 * 1024 * 1024,
  /** A subscriber that stopped reading for longer is told how far it was behind. */
  live_behind_ms: 1_000,
  /** Messages to agents whose answers still find their way back, and sessions a subscription keeps the last number of. */
  live_routes_max: 1_000,
  live_places_max: 10_000,
  /** Between saying goodbye to a peer and hanging up on it. */
  live_hangup_ms: 2_000,
  /** The same where no collector answers. */
  live_deliver_away_ms: 200,
  /** How long an acknowledgement may take before the message is sent again; doubled each time up to the second. */
  live_resend_ms: 1_000,
  live_resend_ms_max: 60_000,
  /** A call that runs longer is told about, and then again and again. */
  live_status_first_ms: 5_000,
  live_status_every_ms: 10_000,
  /** A call without a sign of life is given up. */
  live_abandoned_ms: 300_000,
  /** Statuses that tacho makes for one call: a day of silence at one in ten seconds. */
  live_made_statuses_max: 8_640,
  /** Statuses that one moment may bring: a recording may leap over days with thousands of calls open. */
  live_statuses_at_once_max: 10_000,
  /** Characters of one text in a message; more goes on in the next. Escaped one by one they still fit into a message. */
  live_part_chars_max: 1_000_000,
  /** Texts that are being spoken at once: one an agent and one a sub-agent. */
  live_open_texts_max: 256,
  /** Open calls that a snapshot names; all of them are counted. */
  live_open_calls_named_max: 1_000,
  /** Sessions of which a watcher remembers how far it has read. */
  live_places_read_max: 10_000,
  /** What waits for a slow terminal before no more is read from the collector. */
  live_unshown_bytes_max: 1024 * 1024,
  /** How long a collector must be silent to have told everything that it has stored; the second where it knows of more. */
  live_told_all_ms: 2_000,
  live_told_all_ms_max: 15_000,
  /** Clocks of two ends that differ by more are told. */
  live_skew_ms_max: 100,
  /** What a sender keeps on disk for a collector that is away. */
  live_outbox_bytes_max: 1024 * 1024 * 1024,
  /** An outbox over this gives the room of what is acknowledged back, and a program that only sends waits for that. */
  live_outbox_trim_bytes: 64 * 1024 * 1024,
  /** An open session of which all is acknowledged, and that nobody went on with: its numbers are forgotten. */
  live_outbox_idle_ms: 7 * 86_400_000,
  /** How long a collector has to say where a session goes on, and to take something of what waits. */
  live_where_ms: 2_000,
  /** The log of messages that failed a rule; the oldest half goes when it is full. */
  live_failing_bytes_max: 64 * 1024 * 1024,
  /** Failures of one rule that are listed; all are counted. */
  conformance_failures_max: 10,
  /** Open calls of all sessions of a stream that is judged: some 40 MB. The characters of their ids have the bound above. */
  conformance_calls_max: 100_000,
  /** The last messages of a session that are remembered: twice what can be under way when a connection breaks. */
  conformance_seen_max: 4_096,
  /** Messages of a sent stream that another is held against: 12 bytes each. */
  conformance_against_max: 10_000_000,
  /** Messages that wait for their answer in a stream that is judged. */
  conformance_waiting_max: 1_000,
  /** Sessions that the board of a collector lists; the rest is in the sums. */
  board_sessions_max: 200,
  /** Between two writings of the board. */
  board_write_ms: 1_000,
  /** One fact in the user's own state: a path and what was shown of a file. A longer one is not known. */
  user_fact_bytes_max: 64 * 1024,
  /** Facts in the user's own state before those about paths that are gone are removed; reading them takes some 20 ms. */
  user_facts_max: 1_000,
  /** A field's name and place in a list of drift: one readable line. */
  drift_text_chars_max: 300,
} as const;
