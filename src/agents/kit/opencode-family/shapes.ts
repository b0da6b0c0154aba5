/** Kinds of records, and foreign content in them. The fields are in each agent's generated/fields.ts. */
import type { RecordShapes } from '../../../model/agent.ts';
import { storedKind } from './native.ts';

/** Within records, messages have a role and calls have a status. */
const kindOf: RecordShapes['kindOf'] = (value) => {
  const words = [value.type, value.role, value.status];
  return words.find((word) => typeof word === 'string') ?? storedKind(value) ?? '';
};

const ERROR = 'error?{name? message? data?{message? statusCode? isRetryable?}}';
const ASKED = 'properties?{id? permission? type? title? pattern? patterns? callID? tool?{callID?}}';

/** The declarations of an agent of the family, except its fields. */
export const FAMILY: Omit<RecordShapes, 'stdout' | 'session'> = {
  kindOf,
  opaque: ['input', 'metadata', 'permission', 'responseHeaders', 'summary_diffs'],
  unrecorded: {
    stdout: {
      'command.executed': 'properties?{name? arguments? command? exitCode?}',
      // Earlier versions.
      error: 'error{message?}',
      'file.edited': 'properties{path? diff?{before?}}',
      'message.part.updated': 'properties{part{ignored? synthetic?}}',
      'message.updated': `properties{info{${ERROR}}}`,
      'permission.asked': ASKED,
      'permission.replied': 'properties?{requestID? permissionID? reply? response?}',
      'permission.updated': ASKED,
      // A sub-agent's session.
      'session.created': 'properties{info{parentID? model?{id? providerID?}}}',
      'session.error': `properties?{sessionID? ${ERROR}}`,
      'session.status': 'properties{status{<retry> type? attempt? message? next?}}',
      'session.updated': 'properties{info{parentID?}}',
      text: 'part{ignored?}',
      // Records that contain others: the bus of all projects, durable events, and exports on one line.
      export: 'info?* messages?{info?* parts?*} parts?*',
      global: 'payload?*',
      sync: 'type? syncEvent?{id? type? data?*}',
    },
    session: {
      'row/event': 'id? type? aggregate_id? aggregateID? data?*',
      'row/part': `data{ignored? <retry> type? attempt? ${ERROR}}`,
    },
  },
};
