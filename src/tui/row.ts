/** The rows of a run in the view. */
import type { CallStatus } from '../model/words.ts';
import type { Parts } from './parts.ts';

export interface CallRow {
  kind: 'call';
  tool: string;
  about: string;
  /** The call of the sub-agent that made it. */
  parent: CallRow | null;
  /** Depth of nested sub-agents. */
  depth: number;
  status: CallStatus | null;
  exit_code: number | null;
  duration_ms: number | null;
  /** Why it was denied. */
  reason: string | null;
  /** When the view received it. */
  since_ms: number;
  step: number;
  /** Short lines below it: a diff, or the beginning of a failure's output. */
  below: readonly string[];
  parts: Parts;
  /** Rows of its sub-agent, and whether they are hidden. */
  children: number;
  folded: boolean;
}
/** A line of the root agent's text. */
export interface TextRow {
  kind: 'text';
  text: string;
  parent: null;
}
/** Anything else on one line; its complete text can be opened. */
export interface NoteRow {
  kind: 'note';
  /** Shown before the text: `thinking`, `you`. */
  name: string | null;
  text: string;
  tone: 'dim' | 'yellow' | 'red' | 'cyan';
  parent: CallRow | null;
  depth: number;
  parts: Parts;
}
export type Row = CallRow | TextRow | NoteRow;

/** Whether a row belongs to a folded sub-agent. */
export function isHidden({ parent }: Row): boolean {
  for (let up = parent; up !== null; up = up.parent) if (up.folded) return true;
  return false;
}

/** Shows a row of a folded sub-agent. */
export function unfold({ parent }: Row): void {
  for (let up = parent; up !== null; up = up.parent) up.folded = false;
}
