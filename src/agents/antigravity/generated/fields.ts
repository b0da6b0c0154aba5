/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
};

export const SESSION: Readonly<Record<string, string>> = {
  CHECKPOINT: `step_index? source? type? status? created_at? content?`,
  CONVERSATION_HISTORY: `step_index? source? type? status? created_at?`,
  KNOWLEDGE_ARTIFACTS: `step_index? source? type? status? created_at?`,
  LIST_DIRECTORY: `step_index? source? type? status? created_at? content?`,
  PLANNER_RESPONSE: `step_index source type status created_at content? thinking? tool_calls?{name? args?*}`,
  RUN_COMMAND: `step_index? source? type? status? created_at? content?`,
  USER_INPUT: `step_index? source? type? status? created_at? content?`,
  VIEW_FILE: `step_index? source? type? status? created_at? content?`,
};
