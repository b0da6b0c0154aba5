/** Limits of the search index, each with its reason. */
export const SEARCH_LIMITS = {
  /** Characters of an event that can be found. Longer texts are dumps; the rest of them is not indexed. */
  text_chars_max: 1024 * 1024,
  /** A longer series of letters, digits, `+` and `/` is encoded data, not a word: it would add thousands of useless words. */
  word_chars_max: 200,
  /**
   * Different words with digits in one text: the first is the number for a short text, the second the characters per further word. Logs and dumps consist of ids
   * and times that nobody searches for, and each takes more space in the index than in the journal.
   */
  numbers_min: 32,
  numbers_every_chars: 128,
  /** Characters that one transaction adds: about 100 ms, during which the process answers nothing else. */
  batch_chars: 2 * 1024 * 1024,
  /** Journal lines that one transaction reads at most, so that progress is saved even if they contain no text. */
  batch_lines: 20_000,
  /** Memory that SQLite uses to collect new words before it writes them. */
  hash_bytes: 8 * 1024 * 1024,
  /** Characters that are added between two garbage collections of about 20 ms. */
  collect_chars: 8 * 1024 * 1024,
  /** Events that are erased word by word, which takes about 4 ms each. For more, merging the whole index is faster. */
  erased_events_max: 2_000,
  /** Hits that are ranked: reading them takes about 15 ms. If there are more, the newest are ranked and counted. */
  ranked_hits_max: 5_000,
  /** Runs that are searched one by one if fields exclude most hits of common words. Each takes about 1 ms. */
  probed_runs_max: 100,
  /** How long a search waits for another process that writes the search index. Then it answers without the newest events. */
  wait_ms: 1_000,
  /** Prefixes have at least this length: a shorter one matches most of the index. */
  prefix_chars_min: 2,
} as const;
