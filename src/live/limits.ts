/** Limits of the live protocol, each with its reason. */
export const LIVE_LIMITS = {
  /** The filter of a subscription as JSON: about 2,000 session ids. */
  filter_chars_max: 64 * 1024,
  /** A token file: thousands of tokens. */
  token_file_bytes_max: 4 * 1024 * 1024,
  /** Connections to a collector: one per running agent and one per watcher. 1,000 idle connections take about 20 MB. */
  connections_max: 2_048,
  /** Connections reserved for private transports, so that others cannot lock the owner out. */
  private_connections: 512,
  /** Connections without a handshake on transports that others can reach: half of all. Beyond that the oldest one is
   * closed: real peers send their handshake immediately. */
  ungreeted_max: 1_024,
  /** Open sessions reserved for private transports. A connection on another transport may open a quarter of all. */
  private_sessions: 256,
  /** Messages a sender may have in flight to a collector. */
  credits: 1_024,
  /** Unwritten bytes for one peer before it counts as slow. */
  backlog_bytes_max: 1024 * 1024,
  /** Subscriptions of one connection. */
  subscriptions_max: 64,
  /** Both ends send heartbeats. After three missed heartbeats the peer counts as gone. */
  heartbeat_ms: 30_000,
  heartbeats_missed_max: 3,
  /** A connection without a handshake for this long is closed. */
  hello_ms: 30_000,
  /** Timeout of one attempt to connect. */
  dial_ms: 10_000,
  /** Wait between two attempts to reach a collector; doubled each time, up to the second value. */
  retry_ms: 1_000,
  retry_ms_max: 60_000,
  /** Bytes a connection may send before its handshake: unknown peers must not fill the memory. */
  hello_bytes_max: 64 * 1024,
  /** Lines before the handshake; each is answered with an error. */
  hello_lines_max: 16,
  /** An unfinished line up to this size does not count as long: the size of one read. */
  short_line_bytes: 64 * 1024,
  /** Long lines read at the same time, so that unfinished lines take at most 64 MiB; others wait. */
  long_lines_max: 8,
  /** Long lines reserved for private transports. */
  long_lines_private: 2,
  /** Waiting long lines, each with the bytes of two reads: 64 MiB. Further lines are refused. */
  long_lines_waiting_max: 512,
  /** While others wait, a long line without new bytes for this time is refused. The more lines wait, the shorter the
   * time, down to the second value. */
  line_stall_ms: 1_000,
  line_stall_ms_min: 50,
  /** A long line that takes longer than this time plus its bytes at this rate is refused, too. */
  line_ms: 2_000,
  line_bytes_per_ms: 256,
  /** Consecutive invalid lines before the connection is closed: reading them takes time from other peers. */
  faulty_lines_max: 10_000,
  /** Unwritten answers to all peers. Beyond that, peers that do not read get no errors. */
  backlog_all_bytes_max: 16 * 1024 * 1024,
  /** Bytes of one connection that wait for the disk before reading pauses: two messages of maximum size. */
  pending_bytes_max: 16 * 1024 * 1024,
  /** The same for all connections: half of the journal's queue. */
  pending_all_bytes_max: 128 * 1024 * 1024,
  /** A subscriber that stopped reading for longer gets a message with the number of messages it was behind. */
  behind_ms: 1_000,
  /** Forwarded messages remembered so that answers can be routed back, and sessions per subscription with their last
   * number. */
  routes_max: 1_000,
  places_max: 10_000,
  /** Time between ending our side of a connection and destroying it. */
  hangup_ms: 2_000,
  /** Wait for an acknowledgement before a message is resent; doubled each time, up to the second value. */
  resend_ms: 1_000,
  resend_ms_max: 60_000,
  /** Sessions with a read position that a watcher remembers. */
  places_read_max: 10_000,
} as const;
