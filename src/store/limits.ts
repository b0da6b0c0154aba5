/** Bounds of the store, each with its reason. */
export const STORE_LIMITS = {
  /** A journal segment is closed at this size and the next begun. */
  segment_bytes_max: 64 * 1024 * 1024,
  /** A closed segment below this is not packed: it would take two more syncs to save a few blocks of the disk. */
  pack_bytes_min: 96 * 1024,
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
  /** What an archive may unpack to, however small it is; beyond that the ratio below counts. */
  restore_free_bytes: 64 * 1024 * 1024,
  /** How many times its own size an archive may unpack to. Archives of real runs reach 10 to 50. */
  restore_ratio_max: 200,
  /** A database up to this size is checked whole when it is opened: some 2 ms a MiB. */
  index_check_bytes_max: 4 * 1024 * 1024,
  /** How much of a prompt a row of the runs list carries; the outcome has all of it. */
  prompt_preview_chars: 500,
  /** Sessions of which the index knows what was read of their files: some 50 MB. Beyond it all of them are read again. */
  sources_max: 100_000,
  /** A file in the making that nobody wrote for this long, and of a dead process, is removed; writing one takes seconds. */
  unfinished_file_ms: 60_000,
  /** An older one is removed whether or not a process has the pid of its maker. */
  unfinished_file_ms_max: 86_400_000,
  /** A spool's meta.json: the longest prompt with every character escaped, and 16 MiB for the rest. */
  spool_meta_bytes_max: 144 * 1024 * 1024,
  /** What a sender keeps on disk for a collector that is away. */
  live_outbox_bytes_max: 1024 * 1024 * 1024,
  /** One fact in the user's own state: a path and what was shown of a file. A longer one is not known. */
  user_fact_bytes_max: 64 * 1024,
  /** Facts in the user's own state before those about paths that are gone are removed; reading them takes some 20 ms. */
  user_facts_max: 1_000,
} as const;
