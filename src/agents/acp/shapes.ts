/** Kinds of messages, and foreign content in them. The fields are in generated/fields.ts. */
import type { RecordShapes } from '../../model/agent.ts';
import { SESSION, STDOUT } from './generated/fields.ts';

/** Lines name their direction, messages their method, updates and blocks their kind. */
const kindOf: RecordShapes['kindOf'] = ({ dir, method, sessionUpdate, type }) =>
  [dir, method, sessionUpdate, type].find((word) => typeof word === 'string') ?? '';

export const shapes: RecordShapes = {
  kindOf,
  opaque: ['_meta', 'rawInput', 'rawOutput'],
  stdout: STDOUT,
  session: SESSION,
  unrecorded: {
    stdout: {
      // `at_ms` is the client program's; recordings are from another client. The rest is version 2 of the protocol.
      'agent->client': `
        at_ms? msg{error{data?{details? detail? message?}} result{info?{name? version?}} params{description?
        subject?{toolCall?*} toolCall{name? content{changes?{path? operation? type?}}} update{name? message?
        text? title? state? stopReason? entries? plan?{entries?} usage?* content{changes?{path? operation?
        type?}}}}}`,
      'agent-nonjson': 'dir? at_ms? msg?',
      'agent-oversize': 'dir? at_ms? msg?',
      'client->agent': 'at_ms?',
      exit: 'at_ms?',
      note: 'dir? at_ms? msg?',
    },
  },
};
