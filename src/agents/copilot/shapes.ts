/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import { kindBy } from '../../lib/shape.ts';
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

export const shapes: RecordShapes = {
  kindOf: kindBy('type'),
  opaque: words(`
    agentMetrics args arguments input modelMetrics serverMetadata toolCounts toolResult
    toolTelemetry usageAccountingWatermarks
  `),
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // Another spelling of a request's name.
      'assistant.message': 'data{toolRequests{toolName?}}',
      // Only for programs on the SDK.
      'assistant.usage': `
        data?{model? inputTokens? outputTokens? cacheReadTokens? cacheWriteTokens? reasoningTokens?
        usage?{model? inputTokens? outputTokens? cacheReadTokens? cacheWriteTokens? reasoningTokens?}}`,
      'tool.execution_progress': 'data?{toolCallId? progressMessage?}',
      'tool.user_requested': 'data?{toolCallId? toolName? name?}',
    },
    session: {
      // A hook that failed.
      'hook.end': 'data{error?{message?}}',
      // Some versions name the call here.
      'permission.requested': 'data{toolCallId?}',
      // An end with an error.
      'session.shutdown': 'data{errorReason?}',
      // Figures without an enclosing `usage`.
      'session.usage_record': `
        data{inputTokens? outputTokens? cacheReadTokens? cacheWriteTokens? reasoningTokens?}`,
    },
  },
};
