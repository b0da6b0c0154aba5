/** The state of one transcript while its steps are read. */
import { jsonInside } from '../../lib/byte-text.ts';
import { trimmed } from '../../lib/white-space.ts';
import { type Drafts, OK, Writer } from '../kit/drafts.ts';
import { idOf, listOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { between } from '../kit/text.ts';
import type { Session } from './generated/native.ts';

/** Some versions write each argument as JSON: `"\"/tmp\""`. */
function argumentsOf(args: unknown): Open | null {
  const given = nativeOf(args);
  if (given === null) return null;
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, unquoted(value)]));
}

function unquoted(value: unknown): unknown {
  if (typeof value !== 'string' || !/^".*"$/s.test(value)) return value;
  return jsonInside(value) ?? value;
}

export class SessionRun extends Writer {
  readonly #session_id: string | null;
  #introduced = false;
  #calls = 0;
  /** The model's last step is an answer without calls. */
  #answered = false;

  constructor(to: Drafts, session_id: string | null) {
    super(to);
    this.#session_id = session_id;
  }

  #introduce(): void {
    if (this.#introduced) return;
    this.#introduced = true;
    this.to.session({ session_id: this.#session_id });
  }

  user({ content }: Session['USER_INPUT']): void {
    const text = this.to.need(textOf(content), 'USER_INPUT without content');
    this.#introduce();
    this.#answered = false;
    if (text === null) return;
    const prompt = between(text, '<USER_REQUEST>', '</USER_REQUEST>') ?? text;
    this.to.message('user', trimmed(prompt));
  }

  planner(record: Session['PLANNER_RESPONSE']): void {
    const { content, thinking, tool_calls, status } = record;
    this.#introduce();
    this.to.step(null);
    const thought = textOf(thinking);
    if (thought !== null && thought !== '') this.to.thinking(thought, null);
    const text = textOf(content);
    if (text !== null && text !== '') this.to.message('assistant', text);
    const calls = listOf(tool_calls);
    for (const call of calls) this.#call(nativeOf(call));
    this.#answered = calls.length === 0 && status === 'DONE';
  }

  /** Calls have neither ids nor results. */
  #call(call: { name?: unknown; args?: unknown } | null): void {
    const native_tool = this.to.need(idOf(call?.name), 'tool call without name');
    if (native_tool === null) return;
    this.#calls += 1;
    const call_id = `call_${this.#calls}`;
    this.to.requested(call_id, native_tool, argumentsOf(call?.args));
    this.to.finished({ call_id, status: 'unknown', exit_code: null, output: null });
  }

  end(): void {
    if (this.#answered) this.to.ended(OK, 'inferred');
  }
}
