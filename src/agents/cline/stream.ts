/**
 * stdout: `--json`. `agent_event` records do not name their agent; the `hook_event` records between them do. While
 * exactly one sub-agent works, events belong to it; calls are attributed by the hook before them.
 */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, endFor, OK, Writer } from '../kit/drafts.ts';
import { durationOf, idOf, momentOf, nativeOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { Calls } from './calls.ts';
import type { Stdout } from './generated/native.ts';
import { SPAWN } from './tools.ts';
import { spentOf } from './usage.ts';

function kindOf({ type, event, hookEventName }: Open): string | null {
  if (type === 'hook_event') return `hook_event/${textOf(hookEventName) ?? 'no name'}`;
  if (type !== 'agent_event') return textOf(type);
  const inner = nativeOf(event);
  const kind = textOf(inner?.type) ?? 'no type';
  const content = textOf(inner?.contentType);
  return `agent_event/${kind}${content === null ? '' : `-${content}`}`;
}

export const stream = () =>
  decoder<Stdout>((to) => {
    const run = new Run(to);
    return {
      kindOf,
      timeOf: ({ ts }) => momentOf(ts),
      before: (record) => run.speak(record),
      records: {
        'hook_event/agent_start': (record) => run.agents.start(record),
        'hook_event/tool_call': (record) => run.agents.calls(record),
        'agent_event/iteration_start'() {
          to.introduce({});
          if (to.root) to.step(null);
        },
        'agent_event/content_start-text': ({ event }) =>
          run.delta('message_delta', nativeOf(event)?.text),
        'agent_event/content_start-reasoning': ({ event }) =>
          run.delta('thinking_delta', nativeOf(event)?.reasoning),
        'agent_event/content_end-text'({ event }) {
          const text = to.need(textOf(nativeOf(event)?.text), 'text without content');
          if (text !== null) to.message('assistant', text);
        },
        'agent_event/content_end-reasoning'({ event }) {
          const text = to.need(textOf(nativeOf(event)?.reasoning), 'reasoning without content');
          if (text !== null) to.thinking(text, null);
        },
        'agent_event/content_start-tool': ({ event }) => run.call(nativeOf(event) ?? {}),
        'agent_event/content_update-tool'({ event }) {
          const update = nativeOf(event);
          to.progress(idOf(update?.toolCallId), textOf(nativeOf(update?.update)?.chunk));
        },
        'agent_event/content_end-tool': ({ event }) => run.result(nativeOf(event) ?? {}),
        'agent_event/usage': ({ event }) => to.usage('add', spentOf(nativeOf(event) ?? {})),
        'agent_event/done': () => run.agents.done(),
        run_result: (record) => run.ended(record),
      },
      ignored: [
        ...words('agent_end agent_error session_shutdown tool_result', 'hook_event/'),
        ...words('iteration_end', 'agent_event/'),
      ],
      notices: ['agent_event/error', 'agent_event/notice', 'error', 'run_aborted'],
      noticeText: ({ message, event }) =>
        textOf(message) ?? textOf(nativeOf(nativeOf(event)?.error)?.message),
    };
  });

/** The agents at work. */
class Agents extends Writer {
  /** Sub-agents that work now, with the calls that started them. */
  readonly #working = new Map<string, string | null>();
  /** Open calls that start a sub-agent which has not been seen yet. */
  readonly #spawned: string[] = [];
  /** The sub-agent that the next call belongs to; null: the root agent. */
  caller: string | null = null;

  /** The speaker of a record that names no agent. */
  speak(): void {
    if (this.#working.size === 0) return;
    const [parent = null] = this.#working.size === 1 ? this.#working.values() : [];
    this.to.speak(parent, false);
  }

  start({ agentId, parentAgentId }: Open): void {
    const agent = idOf(agentId);
    if (agent === null || parentAgentId === null || parentAgentId === undefined) return;
    if (this.#working.size < LIMITS.open_calls_max)
      this.#working.set(agent, this.#spawned.shift() ?? null);
  }

  calls({ agentId }: Open): void {
    const agent = idOf(agentId);
    this.caller = agent !== null && this.#working.has(agent) ? agent : null;
  }

  /** Makes the agent of the next call the speaker. */
  speakAsCaller(): void {
    const parent = this.caller === null ? null : (this.#working.get(this.caller) ?? null);
    this.to.speak(parent, this.caller === null);
  }

  spawn(call_id: string): void {
    this.#spawned.push(call_id);
  }

  /** Sub-agents end in any order; with several, it is unknown which one this was. */
  done(): void {
    const [first] = this.#working.keys();
    if (first !== undefined) this.#working.delete(first);
  }
}

class Run extends Writer {
  readonly agents: Agents;
  readonly #calls: Calls;
  readonly #parents = new RecentMap<string, string | null>(LIMITS.open_calls_max);

  constructor(to: Drafts) {
    super(to);
    this.agents = new Agents(to);
    this.#calls = new Calls(to);
  }

  speak({ type }: Open): void {
    if (type === 'agent_event') this.agents.speak();
  }

  delta(kind: 'message_delta' | 'thinking_delta', text: unknown): void {
    if (typeof text === 'string' && !this.to.lost) this.to.delta(kind, text, null);
  }

  call({ toolCallId, toolName, input }: Open): void {
    this.agents.speakAsCaller();
    const named = this.to.callIn(toolCallId, toolName, 'tool call without id or name');
    if (named === null) return;
    this.#parents.set(named.call_id, this.to.parent);
    this.#calls.request(named.call_id, named.native_tool, input);
    if (named.native_tool === SPAWN) this.agents.spawn(named.call_id);
  }

  result({ toolCallId, output, error, durationMs }: Open): void {
    const call_id = this.to.need(idOf(toolCallId), 'tool result without id');
    if (call_id === null) return;
    const duration_ms = durationOf(durationMs);
    const failed = error !== undefined && error !== null;
    this.#calls.finish({ call_id, output, failed, duration_ms });
  }

  /** Its figures exclude sub-agents, so that the sum of the requests is used instead. */
  ended({ finishReason, text, model }: Stdout['run_result']): void {
    const name = idOf(nativeOf(model)?.id);
    if (name !== null) this.to.session({ model: name });
    const said = textOf(text);
    const reason = wordOf(finishReason);
    const failed = reason === 'error';
    if (failed) this.to.failed({ message: said ?? '' });
    if (reason === 'completed') this.to.ended(OK);
    else if (reason === 'aborted') this.to.ended(endFor('cancelled', said));
    else if (failed) this.to.ended(endFor('provider_error', said));
    else if (reason === 'max_iterations') this.to.ended(endFor('max_steps', said));
    else this.to.ended(endFor('agent_error', said ?? reason));
  }
}
