/**
 * The rules for every agent's folder (docs: agents). `testAgent(agent, dir)` reads the recordings in `dir`:
 * `<scenario>/{stdout.jsonl, session/…, truth.json}` and `tools.json`, the tools that the CLI offers its model.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect } from 'vitest';
import { sessionEvents } from '../src/app/sessions/session-source.ts';
import { Pipeline } from '../src/capture/pipeline.ts';
import { recordedRun } from '../src/capture/run-info.ts';
import { createSessionIntake } from '../src/capture/session-intake.ts';
import { own } from '../src/lib/own.ts';
import { type Agent, CAPABILITY_NAMES, type KnownWhen } from '../src/model/agent.ts';
import type { Draft } from '../src/model/draft.ts';
import { type Event, EventData, type EventOf } from '../src/model/event.ts';
import type { RunOutcome } from '../src/model/outcome.ts';
import { CANONICAL_TOOLS, type Channel } from '../src/model/words.ts';
import { createOutcomeFold, measuredBy } from '../src/projections/outcome.ts';
import { verifies } from './e2e/verifies.ts';
import { testShapes } from './test-shapes.ts';
import { testFigures, testWords } from './test-words.ts';
import { relative, type Truth, wrongFacts } from './truth.ts';

type Primary = 'stdout' | 'session';

export interface TestAgentOptions {
  /** The main session file in a scenario's `session/`; null when there is none. */
  sessionFile?(session_dir: string): string | null;
  /** Scenarios that also contain records of other programs (logs of a host, …): problems are expected there. */
  unclean?: readonly string[];
  /** Capabilities that the recordings cannot show, with the reason. */
  unseen?: Partial<Record<(typeof CAPABILITY_NAMES)[number], string>>;
}

export interface Recording {
  scenario: string;
  channel: Primary;
  /** The file of the stream, or the main file of the session. */
  path: string;
  bytes: Buffer;
  truth: Truth | null;
}

const NOT_MAIN =
  /[\\/](subagents|tool-results|hooks)[\\/]|[\\/]agents[\\/](?!main[\\/])|[\\/](state|\d+_\w+)\.json$|\.meta\.json$/;

/** The first .jsonl or .json file that belongs to no sub-agent and is no attachment. */
function firstSessionFile(session_dir: string): string | null {
  if (!existsSync(session_dir)) return null;
  const names = readdirSync(session_dir, { recursive: true, encoding: 'utf8' }).sort();
  const main = names.find((name) => /\.jsonl?$|\.json$/.test(name) && !NOT_MAIN.test(`/${name}`));
  return main === undefined ? null : join(session_dir, main);
}

export function recordingsIn(dir: string, options: TestAgentOptions = {}): Recording[] {
  const sessionFile = options.sessionFile ?? firstSessionFile;
  const recordings: Recording[] = [];
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const scenario = entry.name;
    const truth_path = join(dir, scenario, 'truth.json');
    const truths = existsSync(truth_path) ? JSON.parse(readFileSync(truth_path, 'utf8')) : null;
    const stdout = join(dir, scenario, 'stdout.jsonl');
    const session = sessionFile(join(dir, scenario, 'session'));
    const files = { stdout: existsSync(stdout) ? stdout : null, session };
    for (const channel of ['stdout', 'session'] as const) {
      const path = files[channel];
      if (path === null) continue;
      const truth = (truths?.[channel] ?? null) as Truth | null;
      recordings.push({ scenario, channel, path, bytes: readFileSync(path), truth });
    }
  }
  return recordings.sort((a, b) => a.scenario.localeCompare(b.scenario));
}

/** `path`: the main file of a session. */
export function pipelineFor(agent: Agent, primary: Channel, path?: string): Pipeline {
  const info = recordedRun('r_00000000000000000000000000', agent.id);
  const decoder = path === undefined ? undefined : agent.session?.decoder({ path });
  return new Pipeline({ agent, info, primary, now: null, ...(decoder && { decoder }) });
}

/** All events of these bytes, read in these chunks. `path`: as for `pipelineFor`. */
export function eventsOf(
  agent: Agent,
  channel: Primary,
  chunks: Iterable<Buffer>,
  path?: string,
): Event[] {
  const pipeline = pipelineFor(agent, channel, path);
  const events: Event[] = [];
  const take = (some: Event[]) => {
    for (const event of some) events.push(event);
  };
  for (const chunk of chunks) take(pipeline.push(channel, chunk));
  take(pipeline.endOfInput(channel));
  take(pipeline.finish());
  return events;
}

/** The whole recording, including the files of its sub-agents. */
export async function wholeRun(agent: Agent, recording: Recording): Promise<Event[]> {
  if (recording.channel === 'stdout') return eventsOf(agent, 'stdout', [recording.bytes]);
  const pipeline = pipelineFor(agent, 'session', recording.path);
  const events: Event[] = [];
  for await (const some of sessionEvents(agent, recording.path, pipeline, null))
    events.push(...some);
  events.push(...pipeline.finish());
  return events;
}

/** The events that the session file adds to the run of `pipeline`, which has read the stream. */
export async function filledIn(
  agent: Agent,
  pipeline: Pipeline,
  { path }: Recording,
): Promise<Event[]> {
  const intake = createSessionIntake(agent, pipeline, 0);
  const events: Event[] = [];
  if (intake === null) return events;
  for await (const some of sessionEvents(agent, path, intake, null)) events.push(...some);
  return events;
}

export function outcomeOf(events: readonly Event[]): RunOutcome {
  const fold = createOutcomeFold({ keepIo: true });
  for (const event of events) fold.push(event);
  return fold.finish();
}

/** The usage of the outcome, and the sum of its usage by time and model. */
function usageTwice(events: readonly Event[]) {
  const fold = createOutcomeFold({ keepIo: false });
  for (const event of events) fold.push(event);
  const { outcome, usage } = measuredBy(fold);
  const { tokens, cost } = outcome.metrics;
  const sums = usage.map((row) => ({ ...row.tokens, cost: row.cost_usd }));
  const sum = sums.reduce(
    (a, b) =>
      Object.fromEntries(
        Object.keys(a).map((key) => {
          const [x, y] = [a[key as 'cost'], b[key as 'cost']];
          return [key, x === null ? y : x + (y ?? 0)];
        }),
      ) as typeof a,
  );
  const rounded = (value: number | null) => value && Number(value.toFixed(9));
  return [
    { ...tokens, cost: rounded(cost) },
    { ...sum, cost: rounded(sum.cost) },
  ];
}

export function kindsOf<K extends Event['kind']>(events: readonly Event[], kind: K): EventOf<K>[] {
  return events.filter((event) => event.kind === kind) as unknown as EventOf<K>[];
}

const CHECKS = new Map(
  Object.entries(EventData).map(([kind, schema]) => [kind, Compile(schema)] as const),
);

/** Form errors in a run's events; empty when there are none. */
export function malformed(events: readonly Event[]): string[] {
  const wrong: string[] = [];
  let at_ms = 0;
  events.forEach((event, index) => {
    if (event.seq !== index + 1) wrong.push(`seq ${event.seq} at place ${index + 1}`);
    if (event.at_ms < at_ms) wrong.push(`time goes back at ${event.seq}`);
    at_ms = event.at_ms;
    if (!CHECKS.get(event.kind)?.Check(event.data)) {
      wrong.push(`${event.kind} ${JSON.stringify(event.data).slice(0, 200)}`);
    }
  });
  const ends = kindsOf(events, 'run_finished').length;
  if (ends !== 1) wrong.push(`${ends} run_finished`);
  if (events.at(-1)?.kind !== 'run_finished') wrong.push('run_finished is not the last');
  return wrong;
}

/** The same run without the parts that noise between its lines may change: problems, places, numbers. */
function gist(events: readonly Event[]): unknown[] {
  return events
    .filter((event) => event.kind !== 'problem')
    .map((event) => {
      if (event.kind !== 'run_finished') return { kind: event.kind, data: event.data };
      return { kind: event.kind, data: { ...event.data, completeness: null } };
    });
}

/** Repeatable numbers from 0 to 1. */
function seededNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function* cutUp(bytes: Buffer, size: () => number): Generator<Buffer> {
  for (let from = 0; from < bytes.length; ) {
    const to = from + size();
    yield bytes.subarray(from, to);
    from = to;
  }
}

const linesOf = (bytes: Buffer) =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');

const title = (agent: Agent, recording: Recording) =>
  `${agent.id} ${recording.scenario} ${recording.channel}`;

/** Small enough to be read many times. */
const SMALL_BYTES = 64 * 1024;

export function testAgent(agent: Agent, dir: string, options: TestAgentOptions = {}): void {
  const recordings = recordingsIn(dir, options);
  const clean = recordings.filter(({ scenario }) => !options.unclean?.includes(scenario));
  describe(`agent ${agent.id}`, () => {
    for (const recording of recordings) testRecording(agent, recording, clean.includes(recording));
    testNoise(agent, clean);
    testMutations(agent, recordings);
    testWords(agent.id, playsOf(agent, recordings));
    testFigures(agent.id, playsOf(agent, recordings));
    testNames(agent, recordings);
    testTable(agent, join(dir, 'tools.json'));
    testCapabilities(agent, recordings, options);
    testBothChannels(agent, recordings);
    testShapes(agent, clean);
  });
}

function testRecording(agent: Agent, recording: Recording, clean: boolean): void {
  const { truth, channel, bytes } = recording;
  if (truth !== null) {
    verifies(
      ['AG-3', 'AG-9', 'AG-10', 'AG-11', 'AG-12', 'RO-5'],
      `${title(agent, recording)}: every fact of truth.json is right`,
      async () => {
        const events = await wholeRun(agent, recording);
        expect(wrongFacts(truth, outcomeOf(events))).toEqual([]);
      },
    );
  }
  verifies(
    'AG-2',
    `${title(agent, recording)}: events are well-formed, without problems`,
    async () => {
      const events = await wholeRun(agent, recording);
      expect(malformed(events)).toEqual([]);
      const [total, sum] = usageTwice(events);
      expect(sum).toEqual(total);
      const problems = kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
      const unanswered = truth?.ok === false ? /^(unfinished_call|no_end_record) / : /^$/;
      if (clean) expect(problems.filter((text) => !unanswered.test(text))).toEqual([]);
    },
  );
  verifies('AG-13', `${title(agent, recording)}: any chunking gives the same events`, () => {
    const whole = eventsOf(agent, channel, [bytes]);
    const next = seededNumbers(bytes.length);
    const random = () => 1 + Math.floor(next() ** 4 * 5000);
    expect(eventsOf(agent, channel, cutUp(bytes, random))).toEqual(whole);
    if (bytes.length > SMALL_BYTES) return;
    expect(
      eventsOf(
        agent,
        channel,
        cutUp(bytes, () => 1),
      ),
    ).toEqual(whole);
  });
  if (channel === 'session')
    verifies('WA-4', `${title(agent, recording)}: it may end and grow again at any line`, () =>
      endsAnywhere(agent, recording),
    );
  if (bytes.length > 0) {
    verifies(
      'AG-14',
      `${title(agent, recording)}: a cut loses nothing before it and is reported`,
      () => cutAnywhere(agent, recording),
    );
  }
}

/** A growing session file: the end after each line is that of a file that ends there, and changes nothing after it. */
function endsAnywhere(agent: Agent, { channel, bytes, path }: Recording): void {
  const growing = pipelineFor(agent, channel, path);
  const events: Event[] = [];
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const lf = bytes.indexOf(10, at);
    const to = lf < 0 ? bytes.length : lf + 1;
    events.push(...growing.push(channel, bytes.subarray(at, to)));
    at = to;
    const end = growing.endSoFar();
    if (end === null || n % 5 !== 0) continue;
    const whole = eventsOf(agent, channel, [bytes.subarray(0, at)], path);
    expect([...events, ...end], `end after ${at} bytes`).toEqual(whole);
  }
  const end = [...growing.endOfInput(channel), ...growing.finish()];
  expect([...events, ...end]).toEqual(eventsOf(agent, channel, [bytes], path));
}

/** About 40 positions for a cut: over the whole file, at line ends, and around the last line. */
function cutsOf(bytes: Buffer): number[] {
  const cuts = new Set<number>();
  for (let part = 1; part < 30; part++) cuts.add(Math.floor((bytes.length * part) / 30));
  for (let at = bytes.indexOf(10), n = 0; at >= 0 && n < 6; at = bytes.indexOf(10, at + 1), n++) {
    cuts.add(at + 1);
  }
  const last = bytes.lastIndexOf(10, bytes.length - 2) + 1;
  for (const at of [last - 1, last, last + 1, bytes.length - 3]) cuts.add(at);
  return [...cuts].filter((at) => at > 0 && at < bytes.length - 2).sort((a, b) => a - b);
}

function cutAnywhere(agent: Agent, { channel, bytes }: Recording): void {
  const whole = eventsOf(agent, channel, [bytes]);
  for (const at of cutsOf(bytes)) {
    const cut = eventsOf(agent, channel, [bytes.subarray(0, at)]);
    expect(malformed(cut), `cut at ${at}`).toEqual([]);
    const complete = bytes.lastIndexOf(10, at - 1) + 1;
    const before = (events: Event[]) =>
      events
        .filter(({ raw, kind }) => raw !== null && raw.offset < complete && kind !== 'run_started')
        .map(({ kind, data, raw, step }) => ({ kind, data, raw, step }));
    expect(before(cut), `cut at ${at}`).toEqual(before(whole));
    const torn = kindsOf(cut, 'problem').some(({ data }) => data.code === 'torn_line');
    const rest = bytes.toString('utf8', complete, at);
    expect(torn, `cut at ${at}`).toBe(rest !== '' && !parses(rest));
    const end = kindsOf(cut, 'run_finished')[0]?.data;
    if (channel !== 'stdout' || agent.capabilities.end_record !== 'live') continue;
    if (kindsOf(cut, 'agent_ended').length > 0) continue;
    const said = kindsOf(cut, 'problem').map(({ data }) => data.code);
    expect({ ok: end?.ok, complete: end?.completeness.grade === 'complete' }).toEqual({
      ok: false,
      complete: false,
    });
    expect(said, `cut at ${at}`).toContain('no_end_record');
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const GARBAGE = [
  'npm warn something',
  '{"type":',
  '\u0000\u0000',
  'null',
  '12',
  '"text"',
  '\u2028',
  '}{',
];

function testNoise(agent: Agent, recordings: readonly Recording[]): void {
  verifies('AG-13', `${agent.id}: CRLF, BOM and blank lines change nothing`, () => {
    for (const recording of recordings) {
      const { channel, bytes } = recording;
      const whole = gist(eventsOf(agent, channel, [bytes]));
      const lines = linesOf(bytes);
      const variants = {
        CRLF: lines.map((line) => `${line}\r\n`).join(''),
        BOM: `\ufeff${bytes.toString('utf8')}`,
        blank: lines.map((line) => `\n\r\n${line}\n\n`).join(''),
        unended: lines.join('\n'),
      };
      for (const [name, text] of Object.entries(variants)) {
        const events = eventsOf(agent, channel, [Buffer.from(text)]);
        expect(gist(events), `${title(agent, recording)} ${name}`).toEqual(whole);
      }
    }
  });
  verifies(
    ['AG-2', 'AG-13'],
    `${agent.id}: each line of garbage between records is a problem`,
    () => {
      for (const recording of recordings) {
        const { channel, bytes } = recording;
        const whole = eventsOf(agent, channel, [bytes]);
        const noisy = linesOf(bytes).flatMap((line, n) => [GARBAGE[n % GARBAGE.length], line]);
        const events = eventsOf(agent, channel, [Buffer.from(`${noisy.join('\n')}\n`)]);
        expect(gist(events), title(agent, recording)).toEqual(gist(whole));
        const count = kindsOf(events, 'problem').length - kindsOf(whole, 'problem').length;
        expect(count, title(agent, recording)).toBe(linesOf(bytes).length);
      }
    },
  );
  verifies('AG-2', `${agent.id}: fields and types of future versions are tolerated`, () => {
    for (const recording of recordings) {
      const { channel, bytes } = recording;
      const whole = gist(eventsOf(agent, channel, [bytes]));
      const lines = linesOf(bytes);
      const wider = lines.map((line) =>
        line.startsWith('{"') ? `{"zz_future":{"a":[1,null]},${line.slice(1)}` : line,
      );
      const wide = eventsOf(agent, channel, [Buffer.from(`${wider.join('\n')}\n`)]);
      expect(gist(wide), title(agent, recording)).toEqual(whole);
      const future = '{"type":"zz_future","subtype":"thing","data":{"type":"zz_future"}}';
      const mixed = [future, ...lines, future];
      const events = eventsOf(agent, channel, [Buffer.from(`${mixed.join('\n')}\n`)]);
      expect(gist(events), title(agent, recording)).toEqual(whole);
      const unknown = kindsOf(events, 'problem').filter(
        ({ data }) => data.code === 'unknown_record',
      );
      expect(unknown.length, title(agent, recording)).toBe(2);
    }
  });
}

const OTHER_VALUES = [
  null,
  0,
  -1,
  1e300,
  '',
  'x',
  true,
  [],
  [null],
  {},
  { type: 'x' },
  'a'.repeat(99),
];

/** Deletes or replaces one field somewhere in a record. */
function mutate(value: unknown, way: readonly number[], other: number): unknown {
  if (typeof value !== 'object' || value === null) return OTHER_VALUES[other % OTHER_VALUES.length];
  const keys = Object.keys(value);
  const [turn = 0, ...rest] = way;
  const key = keys[turn % Math.max(1, keys.length)];
  if (key === undefined) return OTHER_VALUES[other % OTHER_VALUES.length];
  const copy = structuredClone(value) as Record<string, unknown>;
  if (rest.length > 0) copy[key] = mutate(copy[key], rest, other);
  else if (other === 0) delete copy[key];
  else copy[key] = OTHER_VALUES[other % OTHER_VALUES.length];
  return copy;
}

function testMutations(agent: Agent, recordings: readonly Recording[]): void {
  const records = recordings
    .filter(({ bytes }) => bytes.length > 0 && bytes.length <= SMALL_BYTES)
    .map(({ channel, bytes }) => ({ channel, lines: linesOf(bytes).filter(isJson) }))
    .filter(({ lines }) => lines.length > 0);
  verifies(
    'AG-2',
    `${agent.id}: a decoder never fails, whatever a record lacks or contains`,
    () => {
      const change = fc.record({
        line: fc.nat(),
        way: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
        other: fc.nat(20),
      });
      const runs = fc.property(
        fc.nat(),
        fc.array(change, { minLength: 1, maxLength: 8 }),
        (n, all) => {
          const { channel, lines } = records[n % records.length]!;
          const changed = [...lines];
          for (const { line, way, other } of all) {
            const at = line % changed.length;
            changed[at] = JSON.stringify(mutate(JSON.parse(changed[at]!), way, other));
          }
          const events = eventsOf(agent, channel, [Buffer.from(`${changed.join('\n')}\n`)]);
          expect(malformed(events)).toEqual([]);
          const faults = kindsOf(events, 'problem').filter(
            ({ data }) => data.code === 'decoder_fault',
          );
          expect(faults).toEqual([]);
        },
      );
      fc.assert(runs, { numRuns: 600, seed: 7 });
    },
  );
}

/** Small recordings, as records that can be changed. */
function playsOf(agent: Agent, recordings: readonly Recording[]) {
  return recordings
    .filter(({ bytes }) => bytes.length > 0 && bytes.length <= SMALL_BYTES)
    .map(({ channel, bytes }) => ({
      lines: linesOf(bytes).filter(isRecord),
      events: (lines: readonly string[]) =>
        eventsOf(agent, channel, [Buffer.from(`${lines.join('\n')}\n`)]),
      malformed,
    }));
}

function isRecord(line: string): boolean {
  return isJson(line) && parses(line);
}

function isJson(line: string): boolean {
  return line.startsWith('{') || line.startsWith('[');
}

/** A command that only reads one file, a patch that only adds files. */
const DECIDED_BY_INPUT: Readonly<Record<string, string>> = { Bash: 'Read', Edit: 'Write' };

function testNames(agent: Agent, recordings: readonly Recording[]): void {
  const rows = new Map(agent.tools.rows.map((row) => [row.native, row]));
  const canonical = new Set<string>(CANONICAL_TOOLS);
  verifies(
    ['AG-4', 'AG-6'],
    `${agent.id}: every call has its canonical name and its table row`,
    async () => {
      for (const recording of recordings) {
        for (const { data } of kindsOf(await wholeRun(agent, recording), 'call_requested')) {
          const row = rows.get(data.native_tool);
          const mcp = /^mcp__.+?__.+$/.test(data.tool);
          const expected = row ? `${agent.id}:${row.native}` : mcp ? 'mcp' : 'pass';
          const tools = row
            ? [row.tool, own(DECIDED_BY_INPUT, row.tool)]
            : [mcp ? data.tool : data.native_tool];
          expect(data.row, title(agent, recording)).toBe(expected);
          expect(tools, title(agent, recording)).toContain(data.tool);
        }
      }
      for (const row of rows.values()) expect(canonical.has(row.tool), row.native).toBe(true);
    },
  );
}

/** Required fields of a canonical tool (AG-7); an Edit may have something other than one pair of strings. */
const REQUIRED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Read: ['file_path'],
  Write: ['file_path', 'content'],
  Edit: ['file_path'],
  Bash: ['command'],
  Grep: ['pattern'],
  Glob: ['pattern'],
  Skill: ['skill'],
  Task: ['prompt'],
};

function testTable(agent: Agent, tools_path: string): void {
  if (!existsSync(tools_path)) return;
  const offered = JSON.parse(readFileSync(tools_path, 'utf8')) as {
    name: string;
    fields: string[];
  }[];
  const rows = new Map(agent.tools.rows.map((row) => [row.native, row]));
  verifies('AG-5', `${agent.id}: every tool of the CLI is mapped or passed through`, () => {
    const passed = new Set(agent.tools.passed_through);
    const missing = offered.filter(({ name }) => !rows.has(name) && !passed.has(name));
    expect(missing).toEqual([]);
    expect([...rows.keys()].filter((name) => passed.has(name))).toEqual([]);
  });
  verifies('AG-7', `${agent.id}: canonical fields come from existing tool fields`, () => {
    for (const { name, fields } of offered) {
      const row = rows.get(name);
      // A tool that takes free text has no fields.
      if (!row || fields.length === 0) continue;
      const mapped = new Set([...fields, ...Object.values(row.fields ?? {})]);
      for (const from of Object.keys(row.fields ?? {})) expect(fields, name).toContain(from);
      const lacking = (REQUIRED_FIELDS[row.tool] ?? []).filter((field) => !mapped.has(field));
      expect(lacking, name).toEqual([]);
    }
  });
}

type Shows = (draft: Draft) => boolean;

/** Every run that worked has one known step: only a second one shows that steps are counted. */
const MORE_THAN_ONE: ReadonlySet<string> = new Set(['steps']);
/** Figures that limits check: reported while there is still work to stop, or only at the end. */
const WATCHED: ReadonlySet<string> = new Set(['usage', 'cost']);

/** Whether a call follows the first report before the agent says that it is done. */
function inTime(drafts: readonly Draft[], shows: Shows): boolean {
  const end = drafts.findIndex((draft) => draft.kind === 'agent_ended');
  const working = end < 0 ? drafts : drafts.slice(0, end);
  const first = working.findIndex(shows);
  return first >= 0 && working.slice(first).some(isCall);
}

const isCall: Shows = (draft) => draft.kind === 'call_requested';
const SHOWN: Record<(typeof CAPABILITY_NAMES)[number], Shows> = {
  steps: (draft) => draft.kind === 'step_started',
  text: (draft) => draft.kind === 'message_finished' && draft.data.role === 'assistant',
  text_deltas: (draft) => draft.kind === 'message_delta',
  thinking: (draft) => draft.kind === 'thinking_finished' || draft.kind === 'thinking_delta',
  call_requests: isCall,
  call_results: (draft) => draft.kind === 'call_finished' && draft.data.output !== null,
  call_starts: (draft) => draft.kind === 'call_started',
  exit_codes: (draft) => draft.kind === 'call_finished' && draft.data.exit_code !== null,
  decisions: (draft) => draft.kind === 'call_decided' && draft.data.decision === 'allow',
  denials: (draft) => draft.kind === 'call_finished' && draft.data.status === 'denied',
  sub_agents: (draft) => draft.kind === 'call_requested' && draft.data.parent_call_id !== null,
  skills: (draft) =>
    draft.kind === 'skill_used' ||
    (draft.kind === 'call_requested' && /^(activate_)?skills?$/i.test(draft.data.native_tool)),
  usage: (draft) =>
    draft.kind === 'usage_reported' && Object.values(draft.data.usage).some((n) => n !== null),
  cost: (draft) => draft.kind === 'usage_reported' && draft.data.cost_usd !== null,
  provider_retries: (draft) => draft.kind === 'provider_retried',
  end_record: (draft) => draft.kind === 'agent_ended' && draft.data.evidence === 'native_result',
  model: (draft) => draft.kind === 'session_started' && draft.data.model !== null,
  session_id: (draft) => draft.kind === 'session_started' && draft.data.session_id !== null,
};

/** The drafts of the decoder alone, before anything is added. */
async function draftsOf(agent: Agent, { channel, path, bytes }: Recording): Promise<Draft[]> {
  const drafts: Draft[] = [];
  const decoder = channel === 'stdout' ? agent.stream?.() : agent.session?.decoder({ path });
  const parts =
    channel === 'stdout' || !agent.session
      ? [{ bytes, part: undefined }]
      : (await agent.session.parts(path)).map((part) => ({ bytes: readFileSync(part.path), part }));
  for (const { bytes: some, part } of parts) {
    for (const line of linesOf(some).filter(isJson))
      decoder?.record(JSON.parse(line), drafts, part);
  }
  decoder?.end(drafts);
  return drafts;
}

function testCapabilities(
  agent: Agent,
  recordings: readonly Recording[],
  options: TestAgentOptions,
): void {
  verifies('AG-17', `${agent.id}: the capability table matches the recordings`, async () => {
    const runs: Record<Primary, Draft[][]> = { stdout: [], session: [] };
    for (const recording of recordings)
      runs[recording.channel].push(await draftsOf(agent, recording));
    const shown = (name: (typeof CAPABILITY_NAMES)[number]): KnownWhen => {
      const least = MORE_THAN_ONE.has(name) ? 2 : 1;
      const shows = (drafts: Draft[]) => drafts.filter(SHOWN[name]).length >= least;
      const live = runs.stdout.filter(shows);
      if (live.length === 0) return runs.session.some(shows) ? 'after' : 'never';
      if (!WATCHED.has(name)) return 'live';
      return live.some((drafts) => inTime(drafts, SHOWN[name])) ? 'live' : 'end';
    };
    const names = CAPABILITY_NAMES.filter((name) => options.unseen?.[name] === undefined);
    const declared = names.map((name) => [name, agent.capabilities[name]]);
    expect(declared).toEqual(names.map((name) => [name, shown(name)]));
  });
}

const isSaid = (fact: unknown) => fact !== undefined && fact !== null && fact !== 'unknown';

/** Both values without facts that only one of them has, with paths relative to the work folder. */
export function saidByBoth(a: unknown, b: unknown): [unknown, unknown] {
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    const pairs = a.map((item, index) => saidByBoth(item, b[index]));
    return [pairs.map(([one]) => one), pairs.map(([, other]) => other)];
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return [relative(a), relative(b)];
  if (Array.isArray(a) || Array.isArray(b)) return [a, b];
  const [left, right] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  const pairs = Object.keys(left)
    .filter((key) => isSaid(left[key]) && isSaid(right[key]))
    .map((key) => [key, saidByBoth(left[key], right[key])] as const);
  return [
    Object.fromEntries(pairs.map(([key, [one]]) => [key, one])),
    Object.fromEntries(pairs.map(([key, [, other]]) => [key, other])),
  ];
}

function testBothChannels(agent: Agent, recordings: readonly Recording[]): void {
  const ids = (truth: Truth | null) => truth?.calls.map((call) => call.id).join() ?? null;
  for (const live of recordings.filter(({ channel }) => channel === 'stdout')) {
    const filed = recordings.find(
      (other) => other.channel === 'session' && other.scenario === live.scenario,
    );
    if (!filed || ids(live.truth) === null || ids(live.truth) !== ids(filed.truth)) continue;
    verifies(
      'AG-15',
      `${agent.id} ${live.scenario}: the session file has the same calls and text as the stream`,
      async () => {
        const facts = async (recording: Recording) => {
          const outcome = outcomeOf(await wholeRun(agent, recording));
          const calls = outcome.tool_calls.map(({ duration_ms: _, ...call }) => call);
          const artifacts = recording.truth?.files === null ? null : outcome.artifacts;
          return { calls, message: outcome.message, artifacts };
        };
        const [stored, streamed] = saidByBoth(await facts(filed), await facts(live));
        expect(stored).toEqual(streamed);
      },
    );
  }
}
