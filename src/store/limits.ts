/** Limits of the store, each with its reason. */
export const STORE_LIMITS = {
  /** A journal segment is closed at this size, and the next one begins. */
  segment_bytes_max: 64 * 1024 * 1024,
  /** Smaller closed segments are not compressed: it would take two more syncs to save a few disk blocks. */
  pack_bytes_min: 96 * 1024,
  /** One journal entry: an event made from the longest line with every character escaped. */
  entry_bytes_max: 64 * 1024 * 1024,
  /** One group commit: large enough for the disk's full throughput, small enough not to block the event loop. */
  journal_group_bytes_max: 4 * 1024 * 1024,
  /** Bytes that may wait for the disk. Beyond this, appends are refused as busy; callers wait for their appends. */
  journal_queue_bytes_max: 256 * 1024 * 1024,
  /** Sessions with hashes that a journal keeps in memory. The least recently used session is read again when needed. */
  journal_sessions_max: 1_000,
  /** Session and source ids in the journal. */
  journal_id_chars_max: 1_024,
  /** Segments that a follower checks in every poll. All others are checked in every tenth poll. */
  follow_segments_hot: 64,
  /** How long a command waits for another command that changes the store before it is refused. */
  lock_wait_ms: 10_000,
  /** Pause between two attempts to take a lock. */
  lock_poll_ms: 50,
  /** Bytes that any archive may decompress to, however small it is. Beyond this, the ratio below applies. */
  restore_free_bytes: 64 * 1024 * 1024,
  /** How many times its own size an archive may decompress to. Archives of real runs reach 10 to 50. */
  restore_ratio_max: 200,
  /** A database up to this size is fully checked when it is opened: about 2 ms per MiB. */
  index_check_bytes_max: 4 * 1024 * 1024,
  /** Characters of a prompt in one row of the runs list. The outcome has the complete prompt. */
  prompt_preview_chars: 500,
  /** Sessions with import facts in the index: about 50 MB. Beyond this, all session files are read again. */
  sources_max: 100_000,
  /** An unfinished file of a dead process is removed after this time without a write. Writing one takes seconds. */
  unfinished_file_ms: 60_000,
  /** A file older than this is removed even if a process has the pid of its writer. */
  unfinished_file_ms_max: 86_400_000,
  /** A spool's meta.json: the longest prompt with every character escaped, and 16 MiB for the rest. */
  spool_meta_bytes_max: 144 * 1024 * 1024,
  /** Bytes that a sender keeps on disk for a collector that is not available. */
  live_outbox_bytes_max: 1024 * 1024 * 1024,
  /** One fact in the user's own state: a path and the shown content of a file. A longer one is ignored. */
  user_fact_bytes_max: 64 * 1024,
  /** Facts in the user's own state before facts about missing paths are removed. Reading them takes about 20 ms. */
  user_facts_max: 1_000,
} as const;
