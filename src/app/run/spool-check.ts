/**
 * The shape of a spool's meta.json, field by field. The agent can write this file: nothing in it is taken for
 * granted.
 */

import type { DrainMark } from '../../capture/source/drain.ts';
import { Report, type Source } from '../../lib/schema/mistakes.ts';
import type { Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import type { RunAttempt, RunConfig, RunLimits } from '../../model/parts.ts';
import { APPROVE_MODES, OUTPUT_MODES } from '../../model/words.ts';
import type { Owner } from '../../store/owner.ts';
import { spoolName } from '../../store/spool/spool.ts';
import { patterns } from '../config/config.ts';
import { STREAM_LOGS } from '../config/log.ts';
import type { LiveRunConfig } from '../live/destination.ts';

const text = is.anyText;
const textOrNull = is.orNull(text);
const pid = is.whole(1, 2 ** 31 - 1);
const count = is.whole(0);
const countOrNull = is.orNull(count);
/** Up to the end of the year 9999: later times have no ISO form. */
const time = is.whole(0, 253_402_300_799_999);

type Trace = NonNullable<LiveRunConfig['trace']>;
/** A field that is added to the record, optional or not, must be added here too. */
type All<T> = Record<keyof T & string, Read>;
type Value<R> = R extends Read<infer T> ? T : never;

/** All fields; those in `optional` may be missing. Unknown ones are dropped: they may have any size and depth. */
function record<R extends Record<string, Read>, O extends (keyof R & string)[]>(
  reads: R,
  ...optional: O
) {
  const fields = Object.entries(reads).map(([name, read]) => [
    name,
    optional.includes(name) ? read : { read, required: true },
  ]);
  return is.mapOf(Object.fromEntries(fields), { open: true }) as unknown as Read<
    { [K in Exclude<keyof R, O[number]>]: Value<R[K]> } & { [K in O[number]]?: Value<R[K]> }
  >;
}

const limits: Read<RunLimits> = record({
  cost_usd: is.orNull(is.figure(0)),
  tokens: countOrNull,
  tool_calls: countOrNull,
  steps: countOrNull,
  same_calls: countOrNull,
});

const attempt: Read<RunAttempt> = record({
  number: is.whole(1),
  earlier_ms: count,
  first_run_id: textOrNull,
});

const config: Read<RunConfig> = record(
  {
    agent: text,
    target: textOrNull,
    model: textOrNull,
    approve: is.oneOf(APPROVE_MODES),
    program: text,
    command: is.texts,
    args: is.texts,
    env_names: is.texts,
    resume: textOrNull,
    timeout_ms: countOrNull,
    limits,
    attempt,
    accept_input: is.oneOf([true]),
    without_git: is.oneOf([true]),
    output_mode: is.oneOf(OUTPUT_MODES),
    stream: is.flag,
    tui: is.flag,
    events_path: textOrNull,
    final_output_path: textOrNull,
    labels: is.named(text),
  } satisfies All<RunConfig>,
  'program',
  'command',
  'limits',
  'attempt',
  'accept_input',
  'without_git',
);

const trace: Read<Trace> = record(
  { traceparent: text, tracestate: textOrNull } satisfies All<Trace>,
  'tracestate',
);

const live: Read<LiveRunConfig> = record({
  url: text,
  token_file: textOrNull,
  ca: textOrNull,
  call_timeout_ms: is.orNull(is.figure(0)),
  trace: is.orNull(trace),
});

const owner: Read<Owner> = record(
  { pid, ticks: countOrNull, space: textOrNull, host: text, life: textOrNull } satisfies All<Owner>,
  'host',
  'life',
);

const mark: Read<DrainMark> = record({ pid, start: textOrNull });

/** The spool's description of its run, with which any later tacho can finish the capture (ST-3). */
const meta = record(
  {
    version: is.oneOf([1]),
    run_id: text,
    config,
    prompt: text,
    cwd: text,
    started_ms: time,
    keep_raw: is.flag,
    // Missing in spools of earlier versions, as `live` and `drains` are.
    stream_log: is.oneOf(STREAM_LOGS),
    // A pattern of an older version, or an edited one, may not compile: without it the raw output cannot be redacted.
    redact: patterns as Read<readonly string[]>,
    // The collector that the run is sent to.
    live: is.orNull(live),
    // The environment's secrets, so that a recovery can redact them. The spool may contain them anyway, and is
    // removed.
    secrets: is.named(text),
    owner,
    agent: is.orNull(mark),
    // Processes that write the agent's output to the spool; empty if the agent writes it itself. If the field is
    // missing, the files have no mark either.
    drains: is.listOf(mark),
  },
  'stream_log',
  'live',
  'drains',
);

export type SpoolMeta = ReturnType<typeof meta>;

/** The meta with only its known fields. Throws a TachoError with all mistakes. */
export function metaFrom(source: Source, folder: string): SpoolMeta {
  const report = new Report('spool');
  const place = report.open(source);
  const found = meta(source.value, place);
  report.end();
  // A folder can only describe its own run.
  if (spoolName(found.run_id) !== folder)
    place.inside('run_id').mistake('does not match this folder');
  report.end();
  return found;
}
