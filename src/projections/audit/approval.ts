/** Who approved a call: a decision in the record, or the setting under which no approval was needed. Pure. */
import type { DataOf } from '../../model/event.ts';

export interface Decided {
  decision: 'allow' | 'deny';
  source: string | null;
}

/** Modes in which an agent asks nobody. */
const FREE_MODE = /bypass|yolo|auto|full|never|danger|dontask|acceptall/i;
const EDIT_MODE = /edit/i;
const EDITS = new Set(['Write', 'Edit']);

/** Null if unknown. */
export function approvedBy(
  tool: string,
  decided: Decided | null,
  started: DataOf<'run_started'> | undefined,
  mode: string | null,
): string | null {
  if (decided?.decision === 'allow') return decided.source;
  const approve = started?.config?.approve;
  if (approve === 'all' || (approve === 'edits' && EDITS.has(tool))) return `--approve ${approve}`;
  if (mode === null) return null;
  const free = FREE_MODE.test(mode) || (EDIT_MODE.test(mode) && EDITS.has(tool));
  return free ? `mode ${mode}` : null;
}
