/** docs/reference/events.md: every kind of event, its fields by the schema, and an example from a recording. */
import { join } from 'node:path';
import type { TSchema } from 'typebox';
import { agentOf } from '../src/app/config/agent-of.ts';
import { eventsOf } from '../src/app/sessions/convert.ts';
import { type Event, EventData, type EventKind, type EventOf } from '../src/model/event.ts';
import { checkEvent } from '../src/model/generated/checks.ts';
import { markdownTable } from './markdown.ts';

const root = join(import.meta.dirname, '..');

const MEANINGS: Readonly<Record<EventKind, string>> = {
  run_started: 'The first event of a run.',
  session_started:
    'The agent reports its session: id, model, tools. A run may have several, for example after `/clear`.',
  step_started: "A turn of the root agent's model begins.",
  step_finished: "A turn of the root agent's model has ended.",
  message_delta: 'A piece of a text, while the model writes it. Only with `stream`.',
  message_finished: 'A whole message.',
  thinking_delta: 'A piece of the reasoning, while the model writes it. Only with `stream`.',
  thinking_finished: 'A complete piece of reasoning.',
  call_requested:
    'The model asks for a tool call. `tool` is the canonical name, `native_tool` that of the agent.',
  call_decided: 'Whether the call may run, and who decided.',
  call_started: 'The call runs.',
  call_progress: 'Output or elapsed time of a call that runs.',
  call_finished: 'The call has ended.',
  call_updated: 'Facts about a call that arrived after its end. Null: unchanged.',
  call_retried: 'The agent makes a failed call again.',
  step_blocked: 'The agent may not continue: a hook, a policy or a limit of the agent.',
  permission_asked: 'The agent asks its user whether a call may run.',
  permission_answered: 'The answer to that question.',
  file_changed: 'A file was created, modified or deleted.',
  skill_used: 'The agent reports the use of a skill.',
  usage_reported: 'Tokens and cost.',
  provider_retried: 'A request to the model API failed and is made again.',
  provider_failed: 'A request to the model API failed.',
  hook_finished: 'A hook of the agent has ended.',
  notice: 'A message for people that has no other kind.',
  problem:
    'Input that could not be read, or part of the record that is missing. The run continues.',
  agent_ended: "The agent's own end record. There may be several; the last one counts.",
  process_exited: "The agent's process has ended.",
  run_finished: 'The last event of a run.',
};

const ENVELOPE = [
  ['`v`', 'version of the vocabulary: 1'],
  ['`run_id`', 'id of the run'],
  ['`seq`', 'number of the event in its run: from 1, without gaps'],
  ['`at_ms`', 'time in milliseconds since 1970; never decreases within a run'],
  [
    '`at_source`',
    '`native`: time of the agent; `observed`: time of reading; `clamped`: raised, so that time never decreases',
  ],
  ['`step`', "turn of the root agent's model, from 1; 0 before the first"],
  ['`kind`', 'one of the kinds below'],
  [
    '`raw`',
    "line of the agent's output that the event comes from: channel, line, offset; null: tacho itself",
  ],
  ['`data`', 'fields of the kind, always present unless marked optional; null: unknown'],
];

/** Recordings that together have every kind except one, the simplest first. */
const RECORDINGS = [
  'demo/default',
  'demo/background',
  'demo/call-retry',
  'demo/blocked',
  'demo/approval-required',
  'demo/provider-error',
  'demo/words',
  'demo/exit-early',
  'copilot/reasoning',
];

/** The end of a process is in no recording of its output. */
const exited = ({ v, run_id, seq, at_ms }: Event): EventOf<'process_exited'> => ({
  ...{ v, run_id, seq, at_ms, at_source: 'observed', step: 0, raw: null },
  kind: 'process_exited',
  data: { exit_code: 0, signal: null, cause: null },
});

async function examples(): Promise<Map<EventKind, Event>> {
  const found = new Map<EventKind, Event>();
  for (const recording of RECORDINGS) {
    const [id = '', name = ''] = recording.split('/');
    const input = join(root, 'src/agents', id, 'testdata', name, 'stdout.jsonl');
    for await (const events of eventsOf({ agent: await agentOf(id), from: 'stdout', input }))
      for (const event of events) if (!found.has(event.kind)) found.set(event.kind, event);
  }
  const last = found.get('run_finished') as Event;
  return found.set('process_exited', exited(last));
}

/** The type of a field, in words of JSON. */
function typeOf(schema: TSchema): string {
  const {
    type,
    enum: words,
    const: only,
    anyOf,
    items,
    additionalProperties,
  } = schema as Record<string, unknown>;
  if (anyOf) return (anyOf as TSchema[]).map(typeOf).join(' or ');
  if (words) return (words as string[]).map((word) => `\`${word}\``).join(', ');
  if (only !== undefined) return `\`${only}\``;
  if (type === 'array') return `list of ${typeOf(items as TSchema)}s`;
  if (type === 'object' && 'properties' in schema) {
    const { properties } = schema as unknown as { properties: Record<string, TSchema> };
    return `{ ${Object.keys(properties).join(', ')} }`;
  }
  if (type === 'object') return additionalProperties === undefined ? 'map' : 'map of strings';
  return (type as string | undefined) ?? 'any JSON';
}

function section(kind: EventKind, example: Event | undefined): string {
  if (example === undefined || !checkEvent(example)) throw new Error(`no example of ${kind}`);
  const { properties, required = [] } = EventData[kind] as unknown as {
    properties: Record<string, TSchema>;
    required?: string[];
  };
  const rows = Object.entries(properties).map(([name, schema]) => [
    `\`${name}\``,
    `${typeOf(schema)}${required.includes(name) ? '' : ', optional'}`,
  ]);
  const json = JSON.stringify(example.data, null, 2);
  return [
    `## \`${kind}\``,
    MEANINGS[kind],
    markdownTable(['field of `data`', 'type'], rows),
    `\`\`\`json\n${json}\n\`\`\``,
  ].join('\n\n');
}

export async function eventsReference(): Promise<string> {
  const found = await examples();
  const kinds = Object.keys(EventData) as EventKind[];
  const whole = JSON.stringify(found.get('call_finished'), null, 2);
  const list = kinds.map((kind) => [`[\`${kind}\`](#${kind})`, MEANINGS[kind]]);
  return `# Events

Generated by \`npm run generate\` from the schema \`tacho.event.v1\`. The examples are from recordings.

[The library](../guide/as-a-library.md) yields these events, and the journal holds them: one vocabulary for all agents.
\`runEvents()\` makes records of the smaller, frozen [run-event contract](run-event.md) of them.

An event has these fields:

${markdownTable(['field', 'meaning'], ENVELOPE)}

\`\`\`json
${whole}
\`\`\`

${markdownTable(['kind', 'meaning'], list)}

${kinds.map((kind) => section(kind, found.get(kind))).join('\n\n')}
`;
}
