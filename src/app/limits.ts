/** Limits of commands, each with its reason. */
export const APP_LIMITS = {
  /** Time between asking a process tree to exit and killing it. */
  kill_grace_ms: 5_000,
  /** How long processes that outlive the agent may continue before they are terminated. */
  leftover_wait_ms: 2_000,
  /** Bytes that they may write to each channel during this time: far more than an agent's last output in a pipe. */
  leftover_bytes_max: 8 * 1024 * 1024,
  /** Bytes that a reading command adds to the index without a notice: takes less than half a second. */
  catch_up_quiet_bytes: 64 * 1024 * 1024,
  /** Memory for runs that are rebuilt in parallel. Further runs are read again later, in groups. */
  rebuild_bytes_max: 48 * 1024 * 1024,
  /** Runs in such a group. They are adjacent in the journal. */
  rebuild_runs_together: 500,
  /** Outcomes that are saved together, and their calls: an outcome takes about 2 kB, and a call 200 bytes more. */
  rebuild_flush_runs: 64,
  rebuild_flush_calls: 10_000,
  /** Bytes of runs read between two garbage collections, which take about 20 ms each. */
  rebuild_collect_bytes: 48 * 1024 * 1024,
  /** Runs in one archive: reading it takes about 1 kB of memory for each run. */
  restore_runs_max: 100_000,
  /** Runs that are compared with each other: the calls of every two runs are aligned. */
  compared_runs_max: 50,
  /** Findings, and parts that were not analysed, of one audit: about 60 MB. Further ones are counted. */
  audit_findings_max: 100_000,
  audit_unread_max: 20_000,
  /** Restored entries that are written together, and runs that become visible together. */
  restore_flush_bytes: 4 * 1024 * 1024,
  restore_flush_entries: 512,
  restore_flush_runs: 64,
  /** Characters kept of each text in an event that exceeds `entry_bytes_max`. */
  cut_text_chars: 64 * 1024,
  /** An agent writes its whole session file in milliseconds, even on a busy machine. */
  rewrite_wait_ms: 1_000,
  /** A larger session file of this kind is read while the agent may write it: it would take too much memory. */
  rewrite_bytes_max: 16 * 1024 * 1024,
  /** Bytes that an import reads before garbage is collected: saves about 40 MB of memory compared with conversions. */
  import_collect_bytes: 32 * 1024 * 1024,
  /** Processes that one import starts. Each takes about 150 MB. */
  import_jobs_max: 64,
  /**
   * Calls of an outcome kept in memory before they are moved to a temporary file: memory stays constant for a session of
   * 1 GB.
   */
  spill_memory_bytes: 4 * 1024 * 1024,
  /**
   * A temporary file: far more than any transcript reader accepts. A larger transcript is dropped and reported.
   */
  spill_bytes_max: 4 * 1024 * 1024 * 1024,
  /**
   * Bytes of a killed run that a new run recovers automatically. Recovering more takes seconds and is left to `tacho runs
   * recover`.
   */
  auto_recover_bytes_max: 32 * 1024 * 1024,
  /** All automatic recoveries at one start together. They run concurrently with the new run and are stopped after this time. */
  auto_recover_ms: 10_000,
  /** Automatic recovery attempts per spool. After this many failures, it waits for `tacho runs recover`. */
  auto_recover_attempts_max: 3,
  /** Longest wait between two attempts of a run. */
  retry_wait_ms_max: 60_000,
  /** The longest Node timer, nearly 25 days. A longer one would fire immediately. */
  timeout_ms_max: 2 ** 31 - 1,
  /** A text sent to a running agent. Agents repeat it in their records, which must have room for it. */
  input_bytes_max: 1024 * 1024,
  /** Texts that an agent has not read yet. Further senders must wait until it has read them. */
  input_waiting_max: 100,
  /** After this time, the stdin of an idle agent that left a text unread is closed. Text sent before that is read. */
  input_wait_ms: 10_000,
  /** Kinds of drift that are listed. A file in an unknown format is reported long before this limit. */
  drift_findings_max: 200,
  /** One line of a transcript file: the maximum length of a string, and far beyond any run worth grading. */
  transcript_line_bytes_max: 256 * 1024 * 1024,
  /** An eval file, or a file of cases or prompts that it names: written by hand or by a small script. */
  eval_file_bytes_max: 16 * 1024 * 1024,
  /** Parallel agents or gradings: more than any machine can run. */
  eval_workers_max: 256,
  /** How long one pattern of an eval may take on one text. */
  regex_ms_max: 2_000,
  /** How long the output of a finished code grader is read if another process keeps it open. */
  grader_drain_ms: 1_000,
  /** Output of a code grader. A verdict is small. */
  grader_output_bytes_max: 1024 * 1024,
  /** A file of a run that is searched for a pattern. A larger file counts as unreadable. */
  graded_file_bytes_max: 16 * 1024 * 1024,
  /** The answer of a judge model. */
  model_answer_bytes_max: 1024 * 1024,
  /** How long a finished run waits for its last acknowledgements. The outbox keeps undelivered messages. */
  live_last_acks_ms: 5_000,
  /** How long a command waits at its end for the delivery of messages that others left in the outbox. */
  live_deliver_ms: 1_000,
  /** The same if no collector answers. */
  live_deliver_away_ms: 200,
  /** Bytes that a collector reads between two garbage collections of about 10 ms. Memory grows by 8 MB in between. */
  live_collect_bytes: 8 * 1024 * 1024,
  /** Bytes that wait for a slow terminal before reading from the collector pauses. */
  live_unshown_bytes_max: 1024 * 1024,
  /**
   * A collector that is silent for this long has sent everything it stored. The second value applies if it has announced
   * more.
   */
  live_silence_ms: 2_000,
  live_silence_ms_max: 15_000,
  /** A larger outbox frees the space of acknowledged messages, and a program that only sends waits for that. */
  live_outbox_trim_bytes: 64 * 1024 * 1024,
  /** Age at which an open session is forgotten, with its numbers, if all messages are acknowledged and none were added. */
  live_outbox_idle_ms: 7 * 86_400_000,
  /** How long a collector has to answer where a session resumes, and to accept a part of the waiting messages. */
  live_where_ms: 2_000,
  /** The log of messages that failed a rule. The older half is dropped when it is full. */
  live_failing_bytes_max: 64 * 1024 * 1024,
  /** Late messages of a session that are logged in full. After an outage all are late; the others are only counted. */
  late_whole_max: 20,
  /** Sessions listed on a collector's board. The others are included only in the totals. */
  board_sessions_max: 200,
  /** Shortest interval between two writes of the board. */
  board_write_ms: 1_000,
  /** Folders with sessions that are watched. The others are polled. Systems limit the watches of a user. */
  watched_folders_max: 4096,
  /** How long hints about changed files are collected: an agent writes several records together. */
  watch_gather_ms: 20,
  /** How often the files of sessions in use, of the last day, and all folders are looked at, whatever the hints say. */
  watch_hot_ms: 500,
  watch_warm_ms: 30_000,
  watch_all_ms: 600_000,
  /** The same for all folders if some of them cannot be watched. */
  watch_poll_ms: 5_000,
  /** The pause after looking at them, as a multiple of the CPU time that it took: at most 0.2 % of one core. */
  watch_poll_pause: 500,
  /** How often the watcher writes its health, and looks at the states of runs. */
  watch_report_ms: 5_000,
  /** How often folders of agents that do not exist are looked for. */
  watch_appear_ms: 500,
  /** A session that changed within this time is in use. */
  watch_hot_age_ms: 120_000,
  /** A session that nobody continued for this long is finished, whatever its last record says. */
  unfinished_age_ms: 86_400_000,
  watch_warm_age_ms: 86_400_000,
  /** A live session of a run that is finished, or without a process, ends when nothing was added for this long. */
  watch_live_quiet_ms: 300_000,
  /** Outboxes that a watcher has open. Sessions that wait for nothing are closed first, the others wait in the journal. */
  watch_live_sessions_max: 256,
  /** Messages that wait for a collector. Further ones are made from the journal when it has taken these. */
  watch_live_waiting_bytes_max: 256 * 1024 * 1024,
  /** How long a refused connection waits for a corrected token. */
  watch_live_again_ms: 60_000,
  /** The list of runs that were sent: 100 bytes for each change since the watcher started. */
  watch_live_book_bytes_max: 256 * 1024 * 1024,
  /** Wait before a collector starts its watcher again; doubled each time, up to the second value. */
  watch_again_ms: 1_000,
  watch_again_ms_max: 300_000,
  /** How often a collector looks whether the store has no other watcher any more. */
  watch_beside_ms: 30_000,
  /** How long a watcher has to end with its collector: it can be killed at any time. */
  watch_stop_ms: 5_000,
  /** Sessions after which a watcher collects garbage: each leaves about a MB, and it runs for weeks. */
  watch_collect_sessions: 128,
  /** Runs that a watcher keeps open for growth in memory, and how long after their last growth. */
  open_runs_max: 32,
  open_run_ms: 600_000,
  /**
   * The text of a compressed session file, in relation to its size. Repetitive sessions reach some hundreds; a file that was
   * made to fill a disk or to take forever reaches many thousands.
   */
  unpacked_ratio_max: 1_000,
  /** A short file may exceed the ratio up to this text. */
  unpacked_bytes_free: 64 * 1024 * 1024,
  /** How often the watcher looks for files with unknown names, at most: this reads all folders. */
  watch_strays_ms: 60_000,
  /** How long after a failure that may pass, such as a locked database, a session is tried again. */
  watch_retry_ms: 5_000,
  /** How long the watcher keeps the store locked at once. Other commands can change it in between. */
  watch_slice_ms: 500,
  /** Shortest time between two notifications of a rule about the same run, unless the rule sets another. */
  notify_interval_ms: 60_000,
  /** Rules for notifications. Each is checked for every call of every run. */
  notify_rules_max: 64,
  /** A text of a notification, in columns: a few lines on a desktop. */
  notify_text_columns_max: 300,
  /** A command or path that is compared with the rules. Longer than any command line that agents write. */
  notify_matched_chars_max: 64 * 1024,
  /** Texts of one call that are compared. */
  notify_matched_texts_max: 64,
  /** How long a webhook or a program may take. */
  notify_action_ms: 10_000,
  /** Notifications under way. Further ones are counted and not sent. */
  notify_pending_max: 32,
  /** Notifications per minute, for the same reason: an agent in a loop must not flood a desktop or a server. */
  notify_per_minute_max: 60,
  /** Runs that a rule remembers, so that it notifies once. */
  notify_runs_max: 10_000,
  /** The file with what was reported: 100 bytes for each run that a rule remembers. */
  notify_memory_bytes_max: 16 * 1024 * 1024,
  /** How long a watcher that ends waits for notifications under way. */
  notify_close_ms: 3_000,
  /** How long a command of the service manager may take. A restart waits until the service has started. */
  service_command_ms: 60_000,
  /** The file of a service. tacho writes about 2 kB. */
  service_file_bytes_max: 64 * 1024,
  /** The name and position of a field in a list of drift: one readable line. */
  drift_text_chars_max: 300,
} as const;
