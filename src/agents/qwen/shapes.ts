/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: kindBy('type', 'subtype'),
  opaque: words(`
    args byName bySource fileStates input models resultDisplay response stats tool_input
    trackedFileBackups uiEvent
  `),
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // Providers that charge for cache writes.
      assistant: 'message{usage{cache_creation_input_tokens?}}',
      // Some versions end a run like this at the turn limit.
      'result/error_max_turns':
        'type? subtype? is_error? duration_ms? error?{message?} permission_denials? usage?',
      'result/success': 'usage{cache_creation_input_tokens?}',
      // Long calls, with partial messages.
      stream_event: 'event{<tool_progress> type? tool_use_id? content?{message? elapsedMs?}}',
      // A fallback to another model.
      'system/retry': 'data{attempt? maxRetries? delayMs?}',
      // A notice for people.
      'system/worktree_started': 'type? subtype? data?*',
    },
    session: {
      // Files and images in an answer.
      assistant: 'message{parts{inlineData? fileData?}}',
      // Background tasks of other versions.
      'system/background_task_completed':
        'type? subtype? message?* systemPayload?{displayText? backgroundTask?{toolUseId? status?}}',
      'system/notification': 'type? subtype? message?* systemPayload?{displayText?}',
      'system/rewind': 'type? subtype? systemPayload?{displayText?}',
      // Telemetry: not compared for drift.
      'system/ui_telemetry': `
        systemPayload{uiEvent{event.name? model? prompt_id? subagent_name? subagent_id? call_id? function_name?
        function_args?* decision? status? error? error_type? error_message? status_code? duration_ms?
        input_token_count? output_token_count? cached_content_token_count? thoughts_token_count?}}`,
      // Results of the CLI's own tools.
      tool_result: `
        message{parts{functionResponse{response{error? output? content?}}}} toolCallResult{resultDisplay?{type?
        text? status? outcome? exitCode? fileDiff? toolCalls?{callId? name? args?* status? error? result?
        resultDisplay?}}}`,
      // The end of a background task.
      'user/notification': 'systemPayload{backgroundTask?{toolUseId? status?}}',
    },
  },
};
