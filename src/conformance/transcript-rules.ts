/** The rules for every transcript (TR-1). */
import type { Transcript, TranscriptCall } from '../model/transcript.ts';
import { eachRecord, linesRule, type RecordLine, type RecordRule, schemaRule } from './records.ts';

const section = 'Transcripts';

/** A rule for each transcript that matches its schema. */
const eachTranscript = (
  id: string,
  title: string,
  wrong: (transcript: Transcript) => string | null,
): RecordRule => {
  const rule = eachRecord(
    { id, title, section, threshold: 1, nothing: 'no transcript matches the schema' },
    () => (value) => wrong(value as Transcript),
  );
  return {
    ...rule,
    create(tally) {
      const { push } = rule.create(tally);
      return { push: (line: RecordLine) => (line.schema_fault === null ? push(line) : undefined) };
    },
  };
};

function* callsOf({ messages }: Transcript): Generator<TranscriptCall> {
  for (const { tool_calls } of messages) yield* tool_calls;
}

function indexFault({ messages }: Transcript): string | null {
  const at = messages.findIndex(({ index }, place) => index !== place);
  return at < 0 ? null : `messages[${at}].index is ${messages[at]?.index}`;
}

function callFault(transcript: Transcript): string | null {
  const ids = new Set<string>();
  for (const { id } of callsOf(transcript)) {
    if (ids.has(id)) return `two calls have the id ${id}`;
    ids.add(id);
  }
  const orphan = transcript.messages.find(
    ({ parent_tool_call_id: parent }) => parent !== null && !ids.has(parent),
  );
  return orphan === undefined
    ? null
    : `messages[${orphan.index}] belongs to call ${orphan.parent_tool_call_id}, which does not exist`;
}

const isBack = (from: number | null, to: number | null) =>
  from !== null && to !== null && to < from;

function timeFault(transcript: Transcript): string | null {
  if (isBack(transcript.start_time_ms, transcript.end_time_ms))
    return 'the run ends before it starts';
  for (const { id, start_time_ms, end_time_ms } of callsOf(transcript))
    if (isBack(start_time_ms, end_time_ms)) return `call ${id} ends before it starts`;
  return null;
}

export const TRANSCRIPT_RULES: readonly RecordRule[] = [
  linesRule({ id: 'TR-1.1', section }),
  schemaRule({ id: 'TR-1.2', section }),
  eachTranscript('TR-1.3', 'messages are numbered from 0', indexFault),
  eachTranscript('TR-1.4', 'call ids are unique, parent calls exist', callFault),
  eachTranscript('TR-1.5', 'nothing ends before it starts', timeFault),
  eachTranscript('TR-1.6', 'success agrees with exit_reason', ({ success, exit_reason }) =>
    success === (exit_reason === 'ok')
      ? null
      : `success is ${success}, but exit_reason is ${exit_reason}`,
  ),
];
