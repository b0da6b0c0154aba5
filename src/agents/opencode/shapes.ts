/** What kinds of records there are, and what in them belongs to others; the fields themselves are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Rows of the database and pieces of an export have no type; within records, messages have a role and calls a status. */
function kindOf(value: Readonly<Record<string, unknown>>): string {
  const { type, role, status } = value;
  for (const kind of [type, role, status]) if (typeof kind === 'string') return kind;
  if (value.time_created === undefined) return piece(value);
  if (value.message_id !== undefined) return 'row/part';
  return value.data === undefined ? 'row/session' : 'row/message';
}

const PIECES = ['session', 'message', 'part'];

function piece(value: Readonly<Record<string, unknown>>): string {
  const [name = '', ...more] = Object.keys(value);
  const one = more.length === 0 && typeof value[name] === 'object' && PIECES.includes(name);
  return one ? `export/${name}` : '';
}

export const shapes: RecordShapes = {
  kindOf,
  opaque: ['input', 'metadata', 'permission', 'responseHeaders', 'summary_diffs'],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      'command.executed': `
        id? type? properties?{name? arguments? command? exitCode? sessionID? time?{created? updated?
        completed?}}`,
      // A failure without data.
      error: 'error{message?}',
      // An export, line by line.
      export: 'info?* messages?{info?* parts?*} parts?*',
      // Older spellings, and what was there before.
      'file.edited': 'properties{path? diff?{before?}}',
      // The bus of all projects.
      global: 'payload?*',
      // Texts that are not for the model, or not the user's.
      'message.part.updated': 'properties{part{ignored? synthetic?}}',
      'message.updated':
        'properties{info{error?{name? message? data?{message? statusCode? isRetryable?}}}}',
      'permission.asked': `
        id? type? properties?{id? sessionID? permission? type? title? pattern? patterns? callID?
        tool?{callID?}}`,
      'permission.replied': `
        id? type? properties?{sessionID? requestID? permissionID? reply? response?}`,
      'permission.updated': `
        id? type? properties?{id? sessionID? permission? type? title? pattern? patterns? callID?
        tool?{callID?}}`,
      // A sub-agent's session.
      'session.created': 'properties{info{parentID? model?{id? providerID?}}}',
      'session.error': `
        id? type? properties?{sessionID? error?{name? message? data?{message? statusCode? isRetryable?}}}`,
      // A retry.
      'session.status': 'properties{status{<retry> type? attempt? message? next?}}',
      'session.updated': 'properties{info{parentID?}}',
      // Events that are kept: on the bus, and as rows.
      sync: 'type? syncEvent?{id? type? data?*}',
      text: 'part{ignored?}',
    },
    session: {
      'row/event': 'id? type? aggregate_id? aggregateID? data?*',
      // Parts of other versions.
      'row/part': `
        data{ignored? <retry> type? attempt? error?{name? message? data?{message? statusCode? isRetryable?}}}`,
    },
  },
};
