/** The shape of a spool's meta.json, field by field. The agent can write this file: nothing in it is taken for granted. */

import type { DrainMark } from '../../capture/source/drain.ts';
import { type JsonSchema, schemaFault } from '../../lib/schema-fault.ts';
import type { RunAttempt, RunConfig, RunLimits } from '../../model/parts.ts';
import { APPROVE_MODES, OUTPUT_MODES } from '../../model/words.ts';
import { compilePatterns } from '../../redact/patterns.ts';
import type { Owner } from '../../store/owner.ts';
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

const TEXT: JsonSchema = { type: 'string' };
const FLAG: JsonSchema = { type: 'boolean' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const NUMBER: JsonSchema = { type: 'number' };
const PID: JsonSchema = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 };
/** The end of the year 9999: later times have no ISO form. */
const TIME: JsonSchema = { type: 'integer', minimum: 0, maximum: 253_402_300_799_999 };
const TEXTS: JsonSchema = { type: 'array', items: TEXT };
const TEXT_BY_NAME: JsonSchema = { type: 'object', additionalProperties: TEXT };

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

/** All fields of `T`; those in `optional` may be missing. */
function record<T>(
  properties: Record<keyof T & string, JsonSchema>,
  ...optional: (keyof T & string)[]
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name as never));
  return { type: 'object', properties, required };
}

const LIMITS_SHAPE = record<RunLimits>({
  cost_usd: orNull(NUMBER),
  tokens: orNull(COUNT),
  tool_calls: orNull(COUNT),
  steps: orNull(COUNT),
  same_calls: orNull(COUNT),
});

const ATTEMPT = record<RunAttempt>({
  number: { ...COUNT, minimum: 1 },
  earlier_ms: COUNT,
  first_run_id: orNull(TEXT),
});

const CONFIG = record<RunConfig>(
  {
    agent: TEXT,
    target: orNull(TEXT),
    model: orNull(TEXT),
    approve: { enum: [...APPROVE_MODES] },
    program: TEXT,
    command: TEXTS,
    args: TEXTS,
    env_names: TEXTS,
    resume: orNull(TEXT),
    timeout_ms: orNull(COUNT),
    limits: LIMITS_SHAPE,
    attempt: ATTEMPT,
    accept_input: { const: true },
    output_mode: { enum: [...OUTPUT_MODES] },
    stream: FLAG,
    tui: FLAG,
    events_path: orNull(TEXT),
    final_output_path: orNull(TEXT),
    labels: TEXT_BY_NAME,
  },
  'program',
  'command',
  'limits',
  'attempt',
  'accept_input',
);

const LIVE = record<Omit<LiveRunConfig, 'insecure'>>({
  url: TEXT,
  token_file: orNull(TEXT),
  ca: orNull(TEXT),
  call_timeout_ms: orNull(NUMBER),
  trace: orNull({
    type: 'object',
    properties: { traceparent: TEXT, tracestate: orNull(TEXT) },
  }),
});

const OWNER = record<Owner>(
  { pid: PID, ticks: orNull(COUNT), space: orNull(TEXT), host: TEXT, life: orNull(TEXT) },
  'host',
  'life',
);

const AGENT = record<NonNullable<SpoolMeta['agent']>>({ pid: PID, start: orNull(TEXT) });

const META = record<SpoolMeta>(
  {
    version: { const: 1 },
    run_id: TEXT,
    config: CONFIG,
    prompt: TEXT,
    cwd: TEXT,
    started_ms: TIME,
    keep_raw: FLAG,
    stream_log: { enum: [...STREAM_LOGS] },
    redact: TEXTS,
    live: orNull(LIVE),
    secrets: TEXT_BY_NAME,
    owner: OWNER,
    agent: orNull(AGENT),
    drains: { type: 'array', items: record<DrainMark>({ pid: PID, start: orNull(TEXT) }) },
  },
  'stream_log',
  'live',
  'drains',
);

/** The meta with the fields that are known and no others, or the first fault in words. */
export function checkMeta(value: unknown): { meta: SpoolMeta } | { fault: string } {
  const fault = schemaFault(META, value, '');
  if (fault !== null) return { fault };
  const meta = only(META, value) as SpoolMeta;
  try {
    compilePatterns(meta.redact);
  } catch (error) {
    // A pattern of an older version, or an edited one: without it the raw output cannot be redacted.
    return { fault: `redact: ${(error as Error).message}` };
  }
  return { meta };
}

/** Fields that no schema names are dropped: they may be of any size and depth. */
function only(schema: JsonSchema, value: unknown): unknown {
  const { properties, anyOf } = schema;
  if (anyOf !== undefined) return value === null ? null : only(anyOf[0] as JsonSchema, value);
  if (properties === undefined) return value;
  const from = value as Record<string, unknown>;
  const names = Object.keys(properties).filter((name) => Object.hasOwn(from, name));
  return Object.fromEntries(
    names.map((name) => [name, only(properties[name] as JsonSchema, from[name])]),
  );
}
