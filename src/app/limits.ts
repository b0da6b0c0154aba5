/** Bounds of commands, each with its reason. */
export const APP_LIMITS = {
  /** Between asking a process tree to end and killing it. */
  kill_grace_ms: 5_000,
  /** How long processes that outlive the agent may go on before they are ended. */
  leftover_wait_ms: 2_000,
  /** What they may write to each channel meanwhile: far more than a pipe holds of the agent's own last output. */
  leftover_bytes_max: 8 * 1024 * 1024,
  /** What a reading command reads into the index without a word: less than half a second. */
  catch_up_quiet_bytes: 64 * 1024 * 1024,
  /** What runs that are made again side by side may take in memory; more of them are read again later, in groups. */
  rebuild_bytes_max: 48 * 1024 * 1024,
  /** Runs of such a group: they are neighbours in the journal. */
  rebuild_runs_together: 500,
  /** Outcomes that are saved together, and their calls: an outcome takes some 2 kB, and a call 200 bytes more. */
  rebuild_flush_runs: 64,
  rebuild_flush_calls: 10_000,
  /** What is read of runs before garbage is collected: some 20 ms each time. */
  rebuild_collect_bytes: 48 * 1024 * 1024,
  /** Runs of one archive: what is known of each while it is read takes about 1 kB. */
  restore_runs_max: 100_000,
  /** Restored entries that are written together, and runs that become visible together. */
  restore_flush_bytes: 4 * 1024 * 1024,
  restore_flush_entries: 512,
  restore_flush_runs: 64,
  /** What is kept of each text in an event that is over `entry_bytes_max`. */
  cut_text_chars: 64 * 1024,
  /** Input of an import after which garbage is collected: some 40 MB less than at the bound of a conversion. */
  import_collect_bytes: 32 * 1024 * 1024,
  /** Processes that one import starts: each has some 150 MB. */
  import_jobs_max: 64,
  /** Calls of an outcome held in memory before they go to a temporary file: a session of 1 GB stays flat. */
  spill_memory_bytes: 4 * 1024 * 1024,
  /** A temporary file: far more than any reader of a transcript takes. A transcript over it is dropped and reported. */
  spill_bytes_max: 4 * 1024 * 1024 * 1024,
  /** What a new run recovers by itself of a killed one: more takes seconds, and is left for `tacho runs recover`. */
  auto_recover_bytes_max: 32 * 1024 * 1024,
  /** All automatic recoveries of one start together; they run beside the new run and are ended after this time. */
  auto_recover_ms: 10_000,
  /** Automatic attempts at one spool; one that failed this often waits for `tacho runs recover`. */
  auto_recover_attempts_max: 3,
  /** Between two attempts at a run, however many there were. */
  retry_wait_ms_max: 60_000,
  /** The longest that a timer of Node's can wait, nearly 25 days; a longer one would go off at once. */
  timeout_ms_max: 2 ** 31 - 1,
  /** A text said to a running agent: agents repeat it in their records, which have room for it. */
  input_bytes_max: 1024 * 1024,
  /** Texts that an agent has not taken up; whoever says more waits until it has. */
  input_waiting_max: 100,
  /** An agent that rests and leaves a text unread has its stdin closed after this time: what came before the end is read. */
  input_wait_ms: 10_000,
  /** Kinds of drift that are listed: an adapter that knows nothing of a file has said so long before. */
  drift_findings_max: 200,
  /** One line of a transcript file: what a string can hold, and far beyond any run worth grading. */
  transcript_line_bytes_max: 256 * 1024 * 1024,
  /** An eval file, or one of cases or a prompt that it names: written by hand or by a small script. */
  eval_file_bytes_max: 16 * 1024 * 1024,
  /** Agents or gradings at a time: more than a machine has room for. */
  eval_workers_max: 256,
  /** How long one pattern of an eval may take on one text. */
  regex_ms_max: 2_000,
  /** How long the output of a code grader that has ended is read on, where another process holds it open. */
  grader_drain_ms: 1_000,
  /** What a code grader may print: a verdict is small. */
  grader_output_bytes_max: 1024 * 1024,
  /** A file of a run that a pattern is looked for in; a larger one counts as unreadable. */
  graded_file_bytes_max: 16 * 1024 * 1024,
  /** The answer of a judging model. */
  model_answer_bytes_max: 1024 * 1024,
  /** How long a run that has ended waits for its last acknowledgements; the outbox keeps what is not delivered. */
  live_last_acks_ms: 5_000,
  /** How long the end of a command waits for what others left in the outbox. */
  live_deliver_ms: 1_000,
  /** The same where no collector answers. */
  live_deliver_away_ms: 200,
  /** What a collector reads before it collects its garbage: some 10 ms each time, and memory grows by 8 MB meanwhile. */
  live_collect_bytes: 8 * 1024 * 1024,
  /** What waits for a slow terminal before no more is read from the collector. */
  live_unshown_bytes_max: 1024 * 1024,
  /** A collector that is silent for this long has sent everything that it stored; the second where it knows of more. */
  live_silence_ms: 2_000,
  live_silence_ms_max: 15_000,
  /** An outbox over this gives the room of what is acknowledged back, and a program that only sends waits for that. */
  live_outbox_trim_bytes: 64 * 1024 * 1024,
  /** An open session of which all is acknowledged, and that nobody went on with: its numbers are forgotten. */
  live_outbox_idle_ms: 7 * 86_400_000,
  /** How long a collector has to answer where a session resumes, and to take a part of the messages that wait. */
  live_where_ms: 2_000,
  /** The log of messages that failed a rule; the oldest half goes when it is full. */
  live_failing_bytes_max: 64 * 1024 * 1024,
  /** Late messages of a session that are logged whole; after an outage all are late, and the others are counted. */
  late_whole_max: 20,
  /** Sessions that the board of a collector lists; the rest is in the sums. */
  board_sessions_max: 200,
  /** Between two writings of the board. */
  board_write_ms: 1_000,
  /** A field's name and place in a list of drift: one readable line. */
  drift_text_chars_max: 300,
} as const;
