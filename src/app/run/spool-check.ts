/** The shape of a spool's meta.json, field by field. The agent can write this file: nothing in it is taken for granted. */

import type { DrainMark } from '../../capture/source/drain.ts';
import { Report, type Source } from '../../lib/schema/mistakes.ts';
import type { Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import type { RunAttempt, RunConfig, RunLimits } from '../../model/parts.ts';
import { APPROVE_MODES, OUTPUT_MODES } from '../../model/words.ts';
import type { Owner } from '../../store/owner.ts';
import { spoolName } from '../../store/spool/spool.ts';
import { patterns } from '../config/config.ts';
import { STREAM_LOGS, type StreamLog } from '../config/log.ts';
import type { LiveRunConfig } from '../live/destination.ts';

/** What a spool says of its run, so that any later tacho can finish the capture (ST-3). */
export interface SpoolMeta {
  version: 1;
  run_id: string;
  config: RunConfig;
  prompt: string;
  cwd: string;
  started_ms: number;
  keep_raw: boolean;
  /** Missing in spools of earlier versions. */
  stream_log?: StreamLog;
  redact: readonly string[];
  /** The collector that it is sent to; missing in spools of earlier versions. */
  live?: LiveRunConfig | null;
  /**
   * The environment's secrets, so that a recovery can redact them: the spool may hold them anyway, and they go with it.
   */
  secrets: Record<string, string>;
  owner: Owner;
  agent: { pid: number; start: string | null } | null;
  /**
   * Processes that write the agent's output into the spool; none where the agent writes it itself. Missing in spools of
   * earlier versions, which also have no mark in their files.
   */
  drains?: DrainMark[];
}

const text = is.anyText;
const textOrNull = is.orNull(text);
const pid = is.whole(1, 2 ** 31 - 1);
const count = is.whole(0);
const countOrNull = is.orNull(count);
/** Up to the end of the year 9999: later times have no ISO form. */
const time = is.whole(0, 253_402_300_799_999);

/** All fields of `T`; those in `optional` may be missing. Others are dropped: they may be of any size and depth. */
function record<T>(
  reads: { [K in keyof T & string]-?: Read<T[K]> },
  ...optional: (keyof T & string)[]
): Read<T> {
  const fields = Object.entries<Read>(reads).map(([name, read]) => [
    name,
    optional.includes(name as never) ? read : { read, required: true },
  ]);
  return is.mapOf(Object.fromEntries(fields), { open: true }) as Read<T>;
}

const limits = record<RunLimits>({
  cost_usd: is.orNull(is.figure(0)),
  tokens: countOrNull,
  tool_calls: countOrNull,
  steps: countOrNull,
  same_calls: countOrNull,
});

const attempt = record<RunAttempt>({
  number: is.whole(1),
  earlier_ms: count,
  first_run_id: textOrNull,
});

const config = record<RunConfig>(
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
    output_mode: is.oneOf(OUTPUT_MODES),
    stream: is.flag,
    tui: is.flag,
    events_path: textOrNull,
    final_output_path: textOrNull,
    labels: is.named(text),
  },
  'program',
  'command',
  'limits',
  'attempt',
  'accept_input',
);

const trace = record<NonNullable<LiveRunConfig['trace']>>(
  { traceparent: text, tracestate: textOrNull },
  'tracestate',
);

const live = record<Omit<LiveRunConfig, 'insecure'>>({
  url: text,
  token_file: textOrNull,
  ca: textOrNull,
  call_timeout_ms: is.orNull(is.figure(0)),
  trace: is.orNull(trace),
});

const owner = record<Owner>(
  {
    pid,
    ticks: countOrNull,
    space: textOrNull,
    host: text,
    life: textOrNull,
  },
  'host',
  'life',
);

const mark = record<DrainMark>({ pid, start: textOrNull });

const meta = record<SpoolMeta>(
  {
    version: is.oneOf([1]),
    run_id: text,
    config,
    prompt: text,
    cwd: text,
    started_ms: time,
    keep_raw: is.flag,
    stream_log: is.oneOf(STREAM_LOGS),
    // One of an older version, or an edited one, may not compile: without it the raw output cannot be redacted.
    redact: patterns,
    live: is.orNull(live),
    secrets: is.named(text),
    owner,
    agent: is.orNull(mark),
    drains: is.listOf(mark),
  },
  'stream_log',
  'live',
  'drains',
);

/** The meta with the fields that are known and no others. Throws a TachoError with all mistakes. */
export function metaFrom(source: Source, folder: string): SpoolMeta {
  const report = new Report('spool');
  const place = report.open(source);
  const found = meta(source.value, place);
  report.end();
  // A folder speaks for its own run only.
  if (spoolName(found.run_id) !== folder)
    place.inside('run_id').mistake('is not the run of this folder');
  report.end();
  return found;
}
