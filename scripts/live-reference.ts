/** docs/reference/live-protocol.md: messages and rules from the sources, so that they stay current. */

import { LIVE_RULES } from '../src/conformance/rules.ts';
import { LIMITS } from '../src/lib/limits.ts';
import type { JsonSchema } from '../src/lib/schema/json-schema.ts';
import { LiveSchemas } from '../src/model/live.ts';
import {
  ACKED_TYPES,
  AGENT_MESSAGE_TYPES,
  CLIENT_MESSAGE_TYPES,
  CONTROL_MESSAGE_TYPES,
  type LiveType,
  URGENT_TYPES,
} from '../src/model/live-words.ts';
import { markdownTable } from './markdown.ts';

const code = (text: string) => `\`${text}\``;

function words(schema: JsonSchema): string {
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((word) => code(String(word))).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(words).join(' or ');
  if (schema.pattern?.includes('T')) return 'a time: `YYYY-MM-DDTHH:mm:ss.SSSZ`';
  if (schema.type === 'string') return schema.minLength === undefined ? 'text' : 'text, not empty';
  if (schema.type === 'integer') return `whole number from ${schema.minimum ?? 0} on`;
  if (schema.type === 'number') return `number from ${schema.minimum ?? 0} on`;
  if (schema.type === 'array') return `list of: ${words(schema.items ?? {})}`;
  if (schema.type === 'object') return 'map';
  return schema.type ?? 'anything';
}

function* fields(schema: JsonSchema, path: string): Generator<string[]> {
  const maps = schema.anyOf?.filter(({ type }) => type === 'object') ?? [schema];
  for (const map of maps) {
    for (const [name, child] of Object.entries(map.properties ?? {})) {
      const at = path === '' ? name : `${path}.${name}`;
      const due = map.required?.includes(name) ? 'yes' : '';
      yield [code(at), words(child), due];
      yield* fields(child, at);
      if (child.items !== undefined) yield* fields(child.items, `${at}[]`);
    }
  }
}

function typeText(type: LiveType): string {
  const { data, ...envelope } = (LiveSchemas[type] as unknown as JsonSchema).properties ?? {};
  const due = ['session_id', 'correlation_id', 'message_id', 'seq'].filter((name) => {
    const { anyOf } = envelope[name] ?? {};
    return anyOf === undefined;
  });
  const notes = [
    due.length > 0 ? `Needs ${due.map(code).join(', ')}.` : null,
    ACKED_TYPES.has(type) ? 'Acknowledged by default.' : null,
    URGENT_TYPES.has(type) ? 'Costs no credit.' : null,
  ].filter((note) => note !== null);
  const rows = [...fields(data ?? {}, 'data')];
  const table = rows.length === 0 ? null : markdownTable(['field', 'what', 'required'], rows);
  return [`### ${type}`, notes.join(' '), table].filter((part) => part).join('\n\n');
}

const ENVELOPE = [
  ['type', 'one of the types below'],
  ['timestamp', 'time of the event: `YYYY-MM-DDTHH:mm:ss.SSSZ`, never going back within a session'],
  ['session_id', 'session of the message'],
  ['correlation_id', 'call of the message; the same in all messages of one call'],
  ['message_id', 'id of the message, unique for its sender'],
  ['seq', 'number of the message in its session: from 1, without a gap'],
  ['ack_required', 'whether the sender expects an acknowledgement; null: the default for the type'],
  ['trace', 'W3C trace context: `{traceparent, tracestate}`, or null'],
  ['data', 'fields of the type; unlisted fields are kept and passed on'],
];

/** Code, cause, and fields of `details`. */
const ERRORS = [
  ['INVALID_JSON_FORMAT', 'the line is not JSON', 'raw_message, parse_error'],
  [
    'INVALID_NDJSON_FORMAT',
    'not a JSON object, not UTF-8, or nested too deep',
    'problematic_line, issue',
  ],
  [
    'INVALID_MESSAGE_TYPE',
    'unknown type; also accepted: `UNKNOWN_MESSAGE_TYPE`',
    'received_type, supported_types',
  ],
  [
    'MISSING_REQUIRED_FIELD',
    'a field is missing or empty',
    'missing_field, received_fields, expected_fields',
  ],
  [
    'INVALID_FIELD_TYPE',
    'a field has the wrong type, is null but required, or is an id that is too long',
    'field, expected, received_type',
  ],
  [
    'INVALID_MESSAGE_FORMAT',
    'the number is not the expected one',
    'field, expected_seq, received_seq',
  ],
  [
    'INVALID_MESSAGE_FORMAT',
    "as a warning: the sender's clock is more than 100 ms off",
    'field, reason, clock_skew_ms, max_skew_ms',
  ],
  ['MESSAGE_TOO_LARGE', 'the line is over the limit', ''],
  ['DUPLICATE_CONFLICT', 'same session and number, different content', ''],
  [
    'AUTH_FAILED',
    'no handshake yet, a message of the other role, or a token without permission',
    '',
  ],
  ['SESSION_COLLISION', 'another connection owns the session', 'conflicting_session_id'],
  [
    'CAPACITY_EXHAUSTED',
    'a limit is reached: credits, sessions, connections, disk; as a warning: a subscriber was behind',
    'current_capacity, max_capacity, pending_messages',
  ],
  ['INPUT_INJECTION_RESTRICTED', "the session's agent does not accept input", ''],
  ['TOOL_TIMEOUT', "in a response's `error`: the call exceeded its time limit", ''],
];

const CONNECTION = `1. The peer sends \`handshake_request\`; any other message before it is refused. The answer contains the heartbeat interval and
   the number of credits.
2. \`resume\` names a session and takes it over from the connection that had it. \`resume_from_seq\` is the number that its next
   message must have. A connection that carries several sessions sends one more handshake for each of them; these only resume.
3. A numbered message costs a credit; \`error\`, \`interrupt\` and \`session_end\` cost none. Without credits a sender
   waits for \`flow_control\`; its \`available_credits\` replaces the count.
4. \`ack\` contains the number up to which a session is on disk. A message without an acknowledgement is sent again after 1 s, 2 s,
   4 s, up to 60 s. A message that arrives twice is stored once, and always acknowledged again.
5. Both sides send \`heartbeat\`. A peer that misses three of them is disconnected. A sender reconnects after 1 s, 2 s, 4 s, up to
   60 s.`;

const INTRO = `# The live protocol

The protocol carries tool events to a collector while an agent runs: one JSON object per line (LF, UTF-8, at most 8 MiB), on
every transport. \`tacho schema live\` prints the JSON Schema, and \`tacho validate\` checks a stream
([checking a stream](../guide/checking-a-stream.md)).`;

const list = (types: readonly string[]) => types.map(code).join(', ');

export function liveReference(): string[] {
  const types = Object.keys(LiveSchemas) as LiveType[];
  const rules = LIVE_RULES.map(({ id, title, section, threshold, nothing }) => [
    id,
    section,
    title,
    `${threshold * 100} %`,
    nothing,
  ]);
  return [
    INTRO,
    '## A message',
    markdownTable(
      ['field', 'what'],
      ENVELOPE.map(([name = '', what = '']) => [code(name), what]),
    ),
    `Ids (\`session_id\`, \`correlation_id\`, \`message_id\`, \`call_id\`) have at most ${LIMITS.live_id_chars_max} characters.`,
    `Messages of an agent, which are numbered and stored: ${list(AGENT_MESSAGE_TYPES)}.`,
    `Messages of a client to an agent: ${list(CLIENT_MESSAGE_TYPES)}.`,
    `Messages of a connection: ${list(CONTROL_MESSAGE_TYPES)}.`,
    'The role in the handshake decides which messages a peer may send: the role `agent` messages of an agent, the role `client`\nmessages of a client. Both may subscribe. After a subscriber has sent `flow_control`, it receives at most that number of further\nmessages, apart from `error`, `interrupt` and `session_end`, until it sends a new number.',
    '## A connection',
    CONNECTION,
    '## Types',
    ...types.map(typeText),
    '## Errors',
    'The collector answers an invalid message with `error`, which names the field and, in `caused_by`, the message. The connection\nstays open.',
    markdownTable(
      ['code', 'when', 'details'],
      ERRORS.map(([name = '', when = '', details = '']) => [
        code(name),
        when,
        details === '' ? '' : details.split(', ').map(code).join(', '),
      ]),
    ),
    '## Rules',
    'Each rule has a threshold: the share of checks that must pass. A rule without anything to check is not judged, which is not the\nsame as passed.',
    markdownTable(['rule', 'section', 'what', 'threshold', 'not judged when'], rules),
    '## The sample',
    'One message in a hundred is sampled for review, the same on every machine: FNV-1a (32 bits) over `SESSION:SEQ`, one\nbyte per character below U+0100, and two, the lower first, above; then the last step of MurmurHash3 (`h ^= h >>> 16`,\n`h *= 0x85ebca6b`, `h ^= h >>> 13`, `h *= 0xc2b2ae35`, `h ^= h >>> 16`); sampled when the remainder by 100 is 0.',
  ];
}
