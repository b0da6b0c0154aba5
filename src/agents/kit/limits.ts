/** Limits for agents, each with its reason. */
export const AGENT_LIMITS = {
  /** The metadata file next to a session file. It contains a few ids. */
  session_meta_bytes_max: 64 * 1024,
  /** A settings file of an agent's CLI. People write it by hand. */
  settings_bytes_max: 1024 * 1024,
  /** A message that tacho's protocol client reads completely. The longest seen was 0.6 MB; a longer one is not answered. */
  message_bytes_max: 64 * 1024 * 1024,
  /** A prompt read from stdin. */
  prompt_bytes_max: 64 * 1024 * 1024,
  /** A command line that is split into words. Linux rejects scripts over 128 KiB; quoting may double the length. */
  split_line_chars_max: 256 * 1024,
  /** How long a permission request waits for an answer before the approval mode refuses the call. */
  confirm_wait_ms: 120_000,
  /** A prompt that the built-in agent repeats in its records. For a longer one, only size and hash are recorded. */
  echoed_prompt_bytes_max: 1024 * 1024,
  /** Sub-agent prompts kept until a session file without a parent id matches one. More sub-agents never run in parallel. */
  unclaimed_prompts_max: 256,
} as const;
