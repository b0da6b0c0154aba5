/** Tool calls of a session file, and the files that they changed. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { DraftOf } from '../../model/draft.ts';
import type { Decision } from '../../model/words.ts';
import { type CallEnd, Writer } from '../kit/drafts.ts';
import { durationOf, nativeOf, textOf } from '../kit/native.ts';
import { contentText } from '../kit/text.ts';
import { endIn } from './results.ts';
import { EDIT, READ, WRITE } from './tools.ts';

interface OpenCall {
  readonly tool: string;
  /** The file that a file tool works on; null for other tools. */
  readonly path: string | null;
  /** File size in bytes after a write. */
  readonly size: number | null;
}

interface Result {
  readonly output?: unknown;
  readonly isError?: unknown;
  readonly durationMs?: unknown;
}

interface Request {
  readonly toolCallId?: unknown;
  readonly toolName?: unknown;
  readonly display?: unknown;
}

interface Asked {
  readonly native_tool: string;
  readonly display: unknown;
  decision: DraftOf<'call_decided'> | null;
}

const FILE_TOOLS: ReadonlySet<string> = new Set([READ, WRITE, EDIT]);

export class Calls extends Writer {
  /** Whether the current turn was interrupted. */
  cancelled = false;
  readonly #open = new RecentMap<string, OpenCall>(LIMITS.open_calls_max);
  /** Whether a file was missing when the CLI first tracked it, by its path or its path below the working directory. */
  readonly #missing = new RecentMap<string, boolean>(LIMITS.artifacts_max);
  readonly #existing = new RecentSet<string>(LIMITS.artifacts_max);

  /**
   * Calls that a person was asked about. The record of such a call follows only after the answer, so that the
   * decision waits for it.
   */
  readonly #asked = new RecentMap<string, Asked>(LIMITS.open_calls_max);

  ask({ toolCallId, toolName, display }: Request, action: string | null): void {
    const named = this.to.callIn(toolCallId, toolName, 'interaction.request without a call');
    if (named === null) return;
    const { call_id, native_tool } = named;
    this.#asked.set(call_id, { native_tool, display, decision: null });
    this.decide(call_id, 'require_approval', action);
  }

  /** The answer to a question takes its place. */
  decide(call_id: string, decision: Decision, reason: string | null): void {
    const data = { call_id, decision, reason, source: 'user' };
    const asked = this.#asked.get(call_id);
    if (asked === undefined) this.to.put('call_decided', data);
    else asked.decision = { kind: 'call_decided', at_ms: this.to.at_ms, data };
  }

  #putDecision(call_id: string): void {
    const { decision = null } = this.#asked.get(call_id) ?? {};
    if (decision !== null) this.to.put('call_decided', decision.data, decision.at_ms);
  }

  /** A question without an answer: the input is known only as far as it was shown. */
  end(): void {
    for (const [call_id, { native_tool, display }] of this.#asked) {
      this.to.requested(call_id, native_tool, nativeOf(display));
      this.#putDecision(call_id);
    }
  }

  request(call_id: string, native_tool: string, input: unknown): void {
    const fields = FILE_TOOLS.has(native_tool) ? nativeOf(input) : null;
    const content = native_tool === WRITE ? textOf(fields?.content) : null;
    const size = content === null || fields?.mode === 'append' ? null : asciiBytes(content);
    this.#open.set(call_id, { tool: native_tool, path: textOf(fields?.path), size });
    this.to.requested(call_id, native_tool, input ?? null);
    this.#putDecision(call_id);
    this.#asked.delete(call_id);
  }

  tracked(path: string, missing: boolean): void {
    this.#missing.set(path, missing);
  }

  finish(call_id: string, { output, isError, durationMs }: Result): void {
    const call = this.#open.get(call_id);
    const text = contentText(output);
    const end = this.#endOf(isError === true, call?.tool ?? null, text);
    const duration_ms = durationOf(durationMs);
    this.to.finished({ call_id, output: text, duration_ms, ...end });
    this.#open.delete(call_id);
    if (call === undefined || call.path === null || end.status !== 'ok') return;
    if (call.tool !== READ) this.#changed(call_id, call.path, call);
    this.#existing.add(call.path);
  }

  #endOf(failed: boolean, tool: string | null, text: string | null): CallEnd {
    if (!failed) return { status: 'ok', exit_code: null };
    const shown = endIn(tool, text);
    if (shown !== null) return shown;
    return { status: this.cancelled ? 'cancelled' : 'error', exit_code: null };
  }

  #changed(call_id: string, path: string, { tool, size }: OpenCall): void {
    const missing = this.#wasMissing(path);
    const fresh = tool === WRITE && missing && !this.#existing.has(path);
    const operation = fresh ? 'created' : 'modified';
    this.to.put('file_changed', { path, operation, call_id, source: 'tool', diff: null, size });
  }

  /** Without a tracked state: a file that no earlier call used is taken as new. */
  #wasMissing(path: string): boolean {
    const known = this.#missing.get(path);
    if (known !== undefined) return known;
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      const below = this.#missing.get(path.slice(at + 1));
      if (below !== undefined) return below;
    }
    return true;
  }
}
