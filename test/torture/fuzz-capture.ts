/** Mutated recordings through all of capture: decoder, pipeline, redaction, and every projection. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { allAgents } from '../../src/agents/registry.ts';
import { Pipeline } from '../../src/capture/pipeline.ts';
import { recordedRun } from '../../src/capture/run-info.ts';
import { reportOf } from '../../src/cli/run/report.ts';
import { createColours } from '../../src/lib/colours.ts';
import { createJsonFilter } from '../../src/lib/foreign-text.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { readText } from '../../src/live/protocol/messages.ts';
import type { Agent } from '../../src/model/agent.ts';
import type { Event } from '../../src/model/event.ts';
import {
  checkEvent,
  checkOutcome,
  checkRunEvent,
  checkTranscript,
} from '../../src/model/generated/checks.ts';
import { FAIL_ON } from '../../src/model/words.ts';
import { agentvLines } from '../../src/projections/agentv.ts';
import { atifText } from '../../src/projections/atif.ts';
import { caughtBy } from '../../src/projections/fail-on.ts';
import { annotationLines } from '../../src/projections/github.ts';
import { HumanProjection } from '../../src/projections/human.ts';
import { LiveProjector } from '../../src/projections/live/live.ts';
import { createOutcomeFold } from '../../src/projections/outcome.ts';
import { createRunEventProjection, serialiseRunEvent } from '../../src/projections/run-event.ts';
import { RunReportFold } from '../../src/projections/run-report.ts';
import { transcriptOf, viewOf } from '../../src/projections/transcript.ts';
import { createGate, createRedactor } from '../../src/redact/gate.ts';
import { checkRunEvents } from '../contract/check-run-event.ts';
import type { FuzzInput, FuzzTarget } from './fuzz-target.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';

type Primary = 'stdout' | 'session';

export interface Recording {
  agent: Agent;
  channel: Primary;
  bytes: Buffer;
}

const AGENTS = join(import.meta.dirname, '../../src/agents');
/** Larger recordings take all the time and find nothing more. */
const BYTES_MAX = 96 * 1024;
/** Up to this size it is also read one byte at a time. */
const SINGLE_BYTES_MAX = 12 * 1024;

/** All recordings of all agents: stdout and session files. */
export function recordingsOf(agent: Agent): Recording[] {
  const folder = join(AGENTS, agent.id, 'testdata');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.jsonl?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/truth\.json$|tools\.json$|\.meta\.json$/.test(path))
    .sort()
    .map((path) => ({ path, bytes: readFileSync(path) }))
    .filter(({ bytes }) => bytes.length > 0 && bytes.length <= BYTES_MAX)
    .map(({ path, bytes }) => {
      const channel: Primary = path.includes('/session/') ? 'session' : 'stdout';
      return { agent, channel, bytes };
    })
    .filter(({ channel }) => channel === 'stdout' || agent.session !== null);
}

const newRedactor = () =>
  createRedactor({
    env: { A_SECRET_TOKEN: 'value-of-a-secret-7Qz81mKpXv' },
    secret_env: [],
    hash: (text) => createHash('sha256').update(text).digest('hex'),
  });

/** The events as stored. */
export function eventsOf({ agent, channel }: Recording, chunks: Iterable<Buffer>): Event[] {
  const gate = createGate(newRedactor());
  const pipeline = new Pipeline({
    agent,
    primary: channel,
    now: null,
    gate,
    info: recordedRun('r_00000000000000000000000000', agent.id, {
      cwd: '/home/user/project',
      prompt: 'do it',
    }),
  });
  const events: Event[] = [];
  const take = (some: readonly Event[]) => {
    for (const event of some) events.push(gate.event(event));
  };
  for (const chunk of chunks) take(pipeline.push(channel, chunk));
  take(pipeline.endOfInput(channel));
  take(pipeline.finish());
  return events;
}

function* cut(bytes: Buffer, size: () => number): Generator<Buffer> {
  for (let from = 0; from < bytes.length; ) {
    const to = from + size();
    yield bytes.subarray(from, to);
    from = to;
  }
}

/** JSON keeps the value as it is: it has no function, undefined or NaN. */
const isJson = (value: unknown) => isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);

function* eventFaults(events: readonly Event[]): Generator<string> {
  let at_ms = 0;
  const open = new Set<string>();
  for (const [index, event] of events.entries()) {
    if (event.seq !== index + 1) yield `event ${index + 1} has the number ${event.seq}`;
    if (event.at_ms < at_ms) yield `event ${event.seq} goes back in time`;
    at_ms = event.at_ms;
    if (!isJson(event)) yield `${event.kind} does not survive JSON`;
    if (!checkEvent(event)) yield `${event.kind} does not match its schema`;
    if (event.kind === 'problem' && event.data.code === 'decoder_fault')
      yield `the decoder throws: ${event.data.detail}`;
    if (event.kind === 'call_started') open.add(event.data.call_id);
    if (event.kind === 'call_finished') open.delete(event.data.call_id);
    if (event.kind === 'usage_reported' || event.kind === 'run_finished')
      yield* negativeFaults(event.kind, { ...event.data.usage, cost: event.data.cost_usd });
  }
  for (const call of open) yield `call ${JSON.stringify(call)} is still open at the end`;
  const ends = events.filter(({ kind }) => kind === 'run_finished').length;
  if (ends !== 1 || events.at(-1)?.kind !== 'run_finished') yield `${ends} run_finished`;
}

function* negativeFaults(name: string, figures: object): Generator<string> {
  for (const [key, figure] of Object.entries(figures))
    if (typeof figure === 'number' && figure < 0) yield `${name}: ${key} is negative`;
}

function* recordFaults(events: readonly Event[]): Generator<string> {
  for (const stream of [false, true]) {
    const projection = createRunEventProjection({ stream });
    let text = '';
    for (const event of events) {
      const record = projection.project(event);
      if (record === null) continue;
      if (!checkRunEvent(record)) yield `run-event ${record.type} does not match the schema`;
      text += serialiseRunEvent(record);
    }
    // As printed.
    const printed = Buffer.from(createJsonFilter()(text));
    for (const breach of checkRunEvents(printed, { stream }))
      yield `run-event: ${breach.replace(/^line \d+: /, '')}`;
  }
}

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const NO_XML =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])/;

function* viewFaults(events: readonly Event[]): Generator<string> {
  for (const stream of [false, true]) {
    const style = { colour: createColours(false), unicode: true, width: 80 };
    const human = new HumanProjection({ ...style, stream, cwd: '/home/user/project' });
    const text = events.map((event) => human.project(event)).join('');
    const found = CONTROL.exec(text);
    if (found !== null) yield `human text contains U+${found[0].charCodeAt(0).toString(16)}`;
  }
  const projector = new LiveProjector({
    session_id: 'r_00000000000000000000000000',
    call_timeout_ms: null,
    trace: null,
    // A mutated time may jump by years: without this, each call would get a day of statuses.
    abandoned_ms: LIMITS.live_abandoned_ms,
  });
  let seq = 0;
  for (const message of events.flatMap((event) => projector.push(event))) {
    seq += 1;
    const { fault } = readText(JSON.stringify(message));
    if (fault !== null) yield `live ${message.type}: ${fault.message}`;
    if (message.seq !== seq) yield `live message ${seq} has the number ${message.seq}`;
    if (!isJson(message)) yield `live ${message.type} does not survive JSON`;
  }
}

function* outcomeFaults(events: readonly Event[]): Generator<string> {
  const fold = createOutcomeFold({ keepIo: true });
  for (const event of events) fold.push(event);
  const outcome = fold.finish();
  if (!checkOutcome(outcome)) yield 'the outcome does not match the schema';
  yield* negativeFaults('outcome', outcome.metrics);
  if (!isJson(outcome)) yield 'the outcome does not survive JSON';
  const calls = new RunReportFold();
  calls.push(events);
  const report = calls.finish();
  const caught = caughtBy(FAIL_ON, report, outcome.completeness);
  const { junit, annotations, summary } = reportOf({ outcome, report, caught });
  if (NO_XML.test(junit())) yield 'the JUnit file is not XML';
  const lines = annotationLines(annotations()).split('\n');
  if (lines.some((line) => line !== '' && !line.startsWith('::'))) yield 'a torn annotation';
  summary();
  const transcript = transcriptOf(events);
  if (!checkTranscript(transcript)) yield 'the transcript does not match the schema';
  if (!isJson(transcript)) yield 'the transcript does not survive JSON';
  JSON.parse([...atifText(viewOf(transcript))].join(''));
  for (const line of [...agentvLines(viewOf(transcript), 't')].join('').split('\n'))
    if (line !== '') JSON.parse(line);
}

function* differenceFaults(name: string, a: readonly Event[], b: readonly Event[]) {
  const at = a.findIndex((event, n) => !isDeepStrictEqual(event, b[n]));
  if (at >= 0 || a.length !== b.length)
    yield `${name} gives different events: ${a[at]?.kind} and ${b[at]?.kind} at ${at + 1}, ${a.length} and ${b.length} in total`;
}

function* faultsOf(recording: Recording, random: Random): Generator<string> {
  const { bytes } = recording;
  const events = eventsOf(recording, [bytes]);
  const some = eventsOf(
    recording,
    cut(bytes, () => 1 + Math.floor(random.next() ** 4 * 4000)),
  );
  yield* differenceFaults('random chunks', events, some);
  if (bytes.length <= SINGLE_BYTES_MAX) {
    const single = eventsOf(
      recording,
      cut(bytes, () => 1),
    );
    yield* differenceFaults('single bytes', events, single);
  }
  yield* eventFaults(events);
  yield* recordFaults(events);
  yield* viewFaults(events);
  yield* outcomeFaults(events);
}

export async function captureTarget(): Promise<FuzzTarget> {
  const agents = await allAgents();
  const recordings = agents.flatMap(recordingsOf);
  const byAgent = Map.groupBy(recordings, ({ agent }) => agent.id);
  const ids = [...byAgent.keys()];
  return {
    name: 'capture',
    make(random): FuzzInput {
      const own = byAgent.get(random.pick(ids)) ?? [];
      const { agent, channel, bytes: before } = random.pick(own);
      // Sometimes with another agent's decoder.
      const other = random.is(0.8) ? random.pick(own) : random.pick(recordings);
      const bytes = mutate(before, random, other.bytes);
      const seed = random.below(2 ** 32);
      return {
        about: `${agent.id} ${channel}`,
        bytes,
        check: async (input) => [...faultsOf({ agent, channel, bytes: input }, new Random(seed))],
      };
    },
    close: async () => {},
  };
}
