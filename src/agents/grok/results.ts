/** The end of a call from its last update, and the file that it changed. */
import { asciiBytes } from '../../lib/utf8.ts';
import type { CallStatus } from '../../model/words.ts';
import type { CallEnd, FileChange } from '../kit/drafts.ts';
import { codeOf, filledOf, listOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import type { Update } from './native.ts';

/** Beginnings of refusals, and their source. A rule lets the run continue; a refusal by the user ends it. */
const REFUSALS = [
  [/^Tool `[^`\n]+` was not executed: /, 'rule'],
  [/^User cancelled the execution for tool /, 'user'],
] as const;

export interface Ending extends CallEnd {
  readonly output: string | null;
  readonly refused_by: 'rule' | 'user' | null;
}

/** Null: the update does not end the call. */
export function endOf(update: Update): Ending | null {
  if (update.status !== 'completed' && update.status !== 'failed') return null;
  const raw = nativeOf(update.rawOutput);
  const output = outputOf(update, raw);
  const exit_code = raw?.type === 'Bash' ? codeOf(raw.exit_code) : null;
  if (update.status === 'completed') {
    return { status: statusOf(raw, exit_code), exit_code, output, refused_by: null };
  }
  const refused_by = REFUSALS.find(([start]) => start.test(output ?? ''))?.[1] ?? null;
  return { status: refused_by === null ? 'error' : 'denied', exit_code, output, refused_by };
}

function statusOf(raw: Open | null, exit_code: number | null): CallStatus {
  if (raw?.timed_out === true) return 'timeout';
  return exit_code !== null && exit_code !== 0 ? 'error' : 'ok';
}

/** The text for people, or else the tool's own result: `{OkayOutput}` or `{Error}` of an MCP tool, a message. */
function outputOf(update: Update, raw: Open | null): string | null {
  const shown = textIn(update.content);
  if (shown !== null) return shown;
  const { output } = raw ?? {};
  const inner = nativeOf(output);
  const applied = nativeOf(raw?.EditsApplied);
  const places = [output, inner?.OkayOutput, inner?.Error, applied?.tool_output_for_prompt];
  return textOf(places.find((value) => typeof value === 'string'));
}

/** The text blocks of an update. */
export function textIn(content: Update['content']): string | null {
  const texts = listOf(content).flatMap((item) => {
    const text = textOf(nativeOf(nativeOf(item)?.content)?.text);
    return text === null ? [] : [text];
  });
  return texts.length === 0 ? null : texts.join('\n');
}

/** The change of a file tool; null for other tools. A written file is reported as created or updated. */
export function changeOf(input: Open | null, update: Update): Omit<FileChange, 'source'> | null {
  const applied = nativeOf(nativeOf(update.rawOutput)?.EditsApplied);
  const path = filledOf(applied?.absolute_path);
  if (path === null) return null;
  const created = / has been created\.?/.test(textOf(applied?.tool_output_for_prompt) ?? '');
  const content = textOf(input?.content);
  const size = content === null ? null : asciiBytes(content);
  return { path, operation: created ? 'created' : 'modified', diff: null, size };
}
