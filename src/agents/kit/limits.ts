/** Bounds of agents, each with its reason. */
export const AGENT_LIMITS = {
  /** What an agent notes beside a session file: some ids. */
  session_meta_bytes_max: 64 * 1024,
  /** A message that our own client of a protocol reads whole; the longest seen had 0.6 MB. A longer one is not answered. */
  message_bytes_max: 64 * 1024 * 1024,
  /** A prompt read from stdin. */
  prompt_bytes_max: 64 * 1024 * 1024,
  /** A command line that is split into its words. Linux takes no script over 128 KiB; quotes may double it. */
  split_line_chars_max: 256 * 1024,
  /** How long a question whether a call may run waits for somebody's answer before the approval mode refuses it. */
  confirm_wait_ms: 120_000,
  /** A prompt that the built-in agent repeats whole in its records; of a longer one only size and hash. */
  echoed_prompt_bytes_max: 1024 * 1024,
  /** Prompts of sub-agents held until a session file without a parent's id claims one; more never run at once. */
  unclaimed_prompts_max: 256,
} as const;
