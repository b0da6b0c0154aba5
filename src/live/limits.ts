/** Bounds of the live protocol, each with its reason. */
export const LIVE_LIMITS = {
  /** A filter of a subscription, as JSON: some 2,000 session ids. */
  filter_chars_max: 64 * 1024,
  /** A file of tokens: thousands of them. */
  token_file_bytes_max: 4 * 1024 * 1024,
  /** Connections to a collector: one per running agent and one per watcher; 1,000 idle ones cost some 20 MB. */
  connections_max: 2_048,
  /** Of these, only for peers on private transports: others cannot lock the owner out. */
  private_connections: 512,
  /** Connections without a handshake on transports that others can reach: half of the places; beyond it the oldest is
   * closed. Peers say hello at once. */
  ungreeted_max: 1_024,
  /** Open sessions only for peers on private transports; a connection on other transports may open a quarter of all. */
  private_sessions: 256,
  /** Messages a sender may have under way to a collector. */
  credits: 1_024,
  /** What may wait to be written to one peer before it counts as slow. */
  backlog_bytes_max: 1024 * 1024,
  /** Subscriptions of one connection. */
  subscriptions_max: 64,
  /** Both ends say that they live; after three that are missed the other one is gone. */
  heartbeat_ms: 30_000,
  heartbeats_missed_max: 3,
  /** A connection that says nothing of itself is closed. */
  hello_ms: 30_000,
  /** How long a connection may take to come about before it is tried again. */
  dial_ms: 10_000,
  /** Between two tries to reach a collector; doubled each time up to the second. */
  retry_ms: 1_000,
  retry_ms_max: 60_000,
  /** What a connection may send before its handshake: unknown peers must not fill the memory. */
  hello_bytes_max: 64 * 1024,
  /** Lines before the handshake: each is answered with an error. */
  hello_lines_max: 16,
  /** An unfinished line up to this size needs no place among the long ones: what one read brings. */
  short_line_bytes: 64 * 1024,
  /** Longer lines that are read at a time, so that unfinished ones take 64 MiB at most; others wait. */
  long_lines_max: 8,
  /** Of these places, only for peers on private transports. */
  long_lines_private: 2,
  /** Lines that wait for a place, each with what two reads bring: 64 MiB. The line of one more is refused. */
  long_lines_waiting_max: 512,
  /** While others wait, a long line that brings nothing for this time is refused: the sooner the more wait, down to the
   * second time. */
  line_stall_ms: 1_000,
  line_stall_ms_min: 50,
  /** The same for one that takes longer than this time and its bytes at this rate. */
  line_ms: 2_000,
  line_bytes_per_ms: 256,
  /** Lines in a row that are no messages: whoever sends more is no peer, and reading them takes time from the others. */
  faulty_lines_max: 10_000,
  /** Answers to all peers that wait to be written; beyond it errors are left out for those that do not read. */
  backlog_all_bytes_max: 16 * 1024 * 1024,
  /** What one connection may have waiting for the disk before it is read no further; two of the longest messages. */
  pending_bytes_max: 16 * 1024 * 1024,
  /** The same of all connections: half of what the journal's queue takes. */
  pending_all_bytes_max: 128 * 1024 * 1024,
  /** A subscriber that stopped reading for longer gets a message that says how far it was behind. */
  behind_ms: 1_000,
  /** Messages to agents whose answers still find their way back, and sessions a subscription keeps the last number of. */
  routes_max: 1_000,
  places_max: 10_000,
  /** Between saying goodbye to a peer and hanging up on it. */
  hangup_ms: 2_000,
  /** How long an acknowledgement may take before the message is sent again; doubled each time up to the second. */
  resend_ms: 1_000,
  resend_ms_max: 60_000,
  /** Sessions of which a watcher remembers how far it has read. */
  places_read_max: 10_000,
} as const;
