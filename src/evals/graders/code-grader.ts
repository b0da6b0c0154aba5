/** `code-grader`: any command that reads the run on stdin and prints a score on stdout (EV-7). */
import { isoText } from '../../lib/iso-time.ts';
import { isMap } from '../../lib/own.ts';
import type { Transcript, TranscriptMessage } from '../../model/transcript.ts';
import { EVAL_LIMITS } from '../limits.ts';
import {
  broken,
  type CommandResult,
  type EvalTest,
  type Evidence,
  fact,
  type Grade,
  type Grader,
  type Options,
} from '../types.ts';

function messageOf({ role, content, tool_calls }: TranscriptMessage) {
  return {
    role,
    content,
    tool_calls: tool_calls.map(({ id, name, input, output, status, duration_ms }) => ({
      tool: name,
      id,
      input,
      output,
      status,
      duration_ms,
    })),
  };
}

/** The input of the command, with the field names of AgentV's graders. */
function payloadOf(test: EvalTest, transcript: Transcript, config: unknown): unknown {
  const calls = transcript.messages.flatMap((message) => message.tool_calls);
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    test_id: test.id,
    criteria: test.criteria,
    input: test.input,
    input_files: [],
    output: transcript.final_output,
    expected_output: test.expected_output,
    messages: transcript.messages.map(messageOf),
    trace_summary: {
      event_count: calls.length,
      tool_calls: Object.fromEntries(counts),
      error_count: calls.filter(({ status }) => status !== 'ok').length,
      llm_call_count: transcript.steps,
    },
    token_usage: transcript.token_usage,
    cost_usd: transcript.cost_usd,
    duration_ms: transcript.duration_ms,
    start_time: isoText(transcript.start_time_ms),
    end_time: isoText(transcript.end_time_ms),
    workspace_path: transcript.source.cwd,
    metadata: test.metadata,
    config: config ?? {},
    transcript,
  };
}

const TEXT_CHARS_MAX = 200;
const excerpt = (text: string) => JSON.stringify(text.trim().slice(0, TEXT_CHARS_MAX));

function factsOf(list: unknown): Evidence[] {
  if (!Array.isArray(list)) return [];
  return list
    .filter(isMap)
    .slice(0, EVAL_LIMITS.evidence_max)
    .map(({ text, passed, evidence }) => {
      const more = typeof evidence === 'string' && evidence !== '' ? ` (${evidence})` : '';
      return fact(`${String(text ?? '')}${more}`, passed === true);
    });
}

/** The verdict in the answer of a grader, also of a model. */
export function gradeOfAnswer(answer: unknown): Grade {
  if (!isMap(answer)) return broken('the grader answered with JSON that is not a map');
  const evidence = factsOf(answer.assertions);
  const share = evidence.filter(({ passed }) => passed).length / evidence.length;
  const score = answer.score ?? (evidence.length === 0 ? undefined : share);
  if (typeof score !== 'number' || !(score >= 0 && score <= 1))
    return broken(`the grader gave no score from 0 to 1: ${excerpt(JSON.stringify(answer))}`);
  const said = answer.reason ?? answer.reasoning;
  const missed = evidence.filter(({ passed }) => !passed).map(({ text }) => text);
  const reason =
    typeof said === 'string' && said !== ''
      ? said
      : missed.map((text) => `not met: ${text}`).join('; ');
  return { score, reason: reason || `the grader gave ${score}`, evidence };
}

const COMMAND_CHARS_MAX = 60;

/** A command in a message; of a shell command, the text. */
export function commandText(command: readonly string[]): string {
  const shell = command.length === 3 && command[0] === 'sh' && command[1] === '-c';
  const text = shell ? (command[2] as string) : command.join(' ');
  const cut = text.length > COMMAND_CHARS_MAX ? `${text.slice(0, COMMAND_CHARS_MAX)}…` : text;
  return `\`${cut}\``;
}

function verdictOf(called: string, { failure, code, stdout, stderr }: CommandResult): Grade {
  const words = stderr.trim() === '' ? '' : `: ${excerpt(stderr)}`;
  if (failure !== null) return broken(`${called} ${failure}${words}`);
  if (code !== 0) return broken(`${called} exited with code ${code}${words}`);
  if (stdout.trim() === '') return broken(`${called} printed nothing${words}`);
  try {
    return gradeOfAnswer(JSON.parse(stdout));
  } catch {
    return broken(`${called} did not print JSON: ${excerpt(stdout)}`);
  }
}

export const timeOf = ({ timeout_ms, timeout_seconds }: Options): number =>
  (timeout_ms as number | undefined) ??
  (timeout_seconds === undefined
    ? EVAL_LIMITS.grader_ms_default
    : Math.round((timeout_seconds as number) * 1000));

export const codeGrader: Grader = async (options, { test, transcript, tools }) => {
  const result = await tools.run({
    command: options.command as string[],
    cwd: (options.cwd as string | undefined) ?? null,
    timeout_ms: timeOf(options),
    input: JSON.stringify(payloadOf(test, transcript, options.config)),
    env: (options.env as string[] | undefined) ?? [],
    much_output: 'refuse',
  });
  return verdictOf(commandText(options.command as string[]), result);
};
