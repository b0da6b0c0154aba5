/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */

export const STDOUT: Readonly<Record<string, string>> = {
};

export const SESSION: Readonly<Record<string, string>> = {
  assistant: `role message{content{<text> type text <tool_use> type name input* id?}}`,
  turn_ended: `type status error?`,
  user: `role message{content{<text> type text}}`,
};
