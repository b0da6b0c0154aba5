/** Kinds of records, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { words } from '../kit/text.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Messages have a role. */
function kindOf({ type, role }: Readonly<Record<string, unknown>>): string {
  return typeof type === 'string' ? type : typeof role === 'string' ? role : '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: words('args arguments data details parameters sections structuredContent toolsAdded'),
  stdout: STDOUT,
  session: SESSION,
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
      // As in message_end.
      message: 'message{details?{patch? results?{messages?*}}}',
    },
  },
};
