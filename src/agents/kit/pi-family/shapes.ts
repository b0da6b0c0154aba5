/** Kinds of records, and foreign content in them. The fields are in each agent's generated/fields.ts. */
import type { RecordShapes } from '../../../model/agent.ts';
import { words } from '../text.ts';

/** Messages have a role. */
function kindOf({ type, role }: Readonly<Record<string, unknown>>): string {
  return typeof type === 'string' ? type : typeof role === 'string' ? role : '';
}

/** The declarations of an agent of the family, except its fields. */
export const FAMILY: Omit<RecordShapes, 'stdout' | 'session'> = {
  kindOf,
  opaque: words('args arguments data details parameters sections structuredContent toolsAdded'),
  unrecorded: {
    stdout: {
      // Earlier versions.
      auto_compaction_end: 'result?{usage?*} errorMessage? reason?',
      // Results of the CLI's own tools, and the messages of sub-agents.
      message_end: 'message{details?{patch? results?{messages?*}} toolsAdded?{name?}}',
      // The state requested by a host.
      response: 'data?{sessionId? model?{id?}}',
      // A notice for people.
      summarization_retry_scheduled: 'type? title? error? errorMessage? reason?',
      tool_execution_end:
        'result{details{patch? results?{messages?*}} structuredContent?{exit_code?}}',
      tool_execution_update: 'partialResult{details?{results?{messages?*}}}',
      turn_end: 'toolResults{details?{patch? results?{messages?*}}}',
    },
    session: {
      branch_summary: 'usage?*',
      // In the source of oh-my-pi.
      model_usage: 'type? id? parentId? timestamp? usage?*',
      // Since 1.x, for requests without a message. In the CLI's documentation.
      usage: 'type? id? parentId? timestamp? kind? provider? model? usage?*',
      // As in message_end.
      message: 'message{details?{patch? results?{messages?*}}}',
    },
  },
};
