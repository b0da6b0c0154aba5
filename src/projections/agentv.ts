/** A transcript → rows of `agentv.transcript.v1`, one per message, for AgentV's `eval --transcript` (TR-5). */
import { isoText } from '../lib/iso-time.ts';
import type { TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import type { CallStatus } from '../model/words.ts';
import type { TranscriptFacts, TranscriptView } from './transcript.ts';

const ROW_SCHEMA = 'agentv.transcript.v1';

/** AgentV has no status for denied calls. */
const STATUS: Record<CallStatus, 'ok' | 'error' | 'unknown'> = {
  ok: 'ok',
  error: 'error',
  denied: 'error',
  timeout: 'error',
  cancelled: 'error',
  unknown: 'unknown',
};

/** `test_id`: the test of the eval that the rows belong to. Default: the session or run. */
export function* agentvLines(
  view: TranscriptView,
  test_id: string | null,
): Generator<string, void> {
  const { facts, count } = view;
  const id = test_id ?? facts.test_id ?? facts.session_id ?? facts.run_id;
  const totals = totalsOf(facts);
  for (let index = 0; index < count; index++) {
    const row = {
      schema_version: ROW_SCHEMA,
      test_id: id,
      target: facts.target ?? facts.agent,
      message_index: index,
      ...messageOf(view.at(index)),
      ...totals,
    };
    yield `${JSON.stringify(row)}\n`;
  }
}

function messageOf(message: TranscriptMessage): object {
  const { role, content, thinking, step, parent_tool_call_id } = message;
  const metadata = known({ thinking, step, parent_tool_call_id });
  return {
    role,
    content,
    ...(message.tool_calls.length > 0 && { tool_calls: message.tool_calls.map(callOf) }),
    ...known({ start_time: isoText(message.time_ms) }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

function callOf(call: TranscriptCall): object {
  return {
    tool: call.name,
    id: call.id,
    status: STATUS[call.status],
    ...known({
      input: call.input,
      output: call.output,
      start_time: isoText(call.start_time_ms),
      end_time: isoText(call.end_time_ms),
      duration_ms: call.duration_ms,
    }),
  };
}

function totalsOf(facts: TranscriptFacts): object {
  const { input, output, cache_read: cached, reasoning } = facts.token_usage;
  const counted = input !== null && output !== null;
  const usage = counted ? { input, output, ...known({ cached, reasoning }) } : null;
  return {
    ...known({
      transcript_token_usage: usage,
      transcript_duration_ms: facts.duration_ms,
      transcript_cost_usd: facts.cost_usd,
    }),
    capture: { content: 'full', redaction_level: 'partial' },
    source: {
      kind: `tacho_${facts.source.kind}`,
      provider: facts.agent,
      session_id: facts.session_id ?? facts.run_id,
      ...known({
        path: facts.source.path,
        model: facts.model,
        timestamp: isoText(facts.start_time_ms),
        cwd: facts.source.cwd,
        version: facts.agent_version,
      }),
      format: facts.schema_version,
      metadata: { run_id: facts.run_id, exit_reason: facts.exit_reason },
    },
  };
}

/** Removes null fields: other formats omit unknown values. */
export function known<T extends Record<string, unknown>>(fields: T): Partial<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as Partial<T>;
}
