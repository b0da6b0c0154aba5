/** Options of the library's functions, by name and type. */
import { aClock, aFunction, having } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { APPROVE_MODES, FAIL_ON } from '../../model/words.ts';
import { STREAM_LOGS } from '../config/log.ts';
import { APP_LIMITS } from '../limits.ts';
import type { LiveRunOptions } from '../live/destination.ts';
import type { RecordOptions, RunOptions } from './options.ts';

type Table<O> = Readonly<Record<keyof O, is.Fields[string]>>;

const textOrNull = is.orNull(is.anyText);
const limit = (least: number) => is.orNull(is.whole(least));
const words = is.named(is.anyText, 'must be an object of strings');

const LIVE_FIELDS = {
  url: is.required(is.text),
  tokenFile: textOrNull,
  ca: textOrNull,
  insecure: is.flag,
  callTimeoutMs: is.orNull(is.over0()),
  trace: is.orNull(is.map),
} as const satisfies Table<LiveRunOptions>;

const RECORDED_FIELDS = {
  cwd: is.anyText,
  model: is.anyText,
  stateDir: is.anyText,
  redact: is.texts,
  labels: words,
  clock: aClock,
  random: aFunction,
  env: words,
} as const;

const SIGNAL = having('an AbortSignal', 'throwIfAborted');

export const RUN_FIELDS = {
  ...RECORDED_FIELDS,
  agent: is.anyText,
  prompt: is.required(is.anyText),
  approve: is.oneOf(APPROVE_MODES),
  args: is.texts,
  command: is.filled(is.texts),
  timeoutMs: is.figure(1, APP_LIMITS.timeout_ms_max),
  resume: is.anyText,
  stream: is.flag,
  keepRaw: is.flag,
  streamLog: is.oneOf(STREAM_LOGS),
  live: is.orNull(is.mapOf(LIVE_FIELDS, { called: 'option' })),
  target: is.anyText,
  retries: is.whole(0),
  retryWaitMs: is.figure(0),
  acceptInput: is.flag,
  maxCostUsd: is.orNull(is.figure(0)),
  maxTokens: limit(1),
  maxToolCalls: limit(0),
  maxSteps: limit(1),
  loopGuard: limit(2),
  bestEffortLimits: is.flag,
  failOn: is.listOf(is.oneOf(FAIL_ON)),
  signal: SIGNAL,
  onNotice: aFunction,
} as const satisfies Table<RunOptions>;

export const RECORD_FIELDS = {
  ...RECORDED_FIELDS,
  agent: is.required(is.anyText),
  prompt: is.anyText,
  messages: is.required(having('an iterable of messages', Symbol.asyncIterator, Symbol.iterator)),
  signal: SIGNAL,
} as const satisfies Table<RecordOptions>;

const isText = (value: unknown) => typeof value === 'string';

export const CONVERT_FIELDS = {
  agent: is.required(is.anyText),
  from: is.oneOf(['stdout', 'session']),
  input: is.required(
    is.when(isText, is.text, having('a path or an async iterable of bytes', Symbol.asyncIterator)),
  ),
  redact: is.texts,
} as const satisfies is.Fields;

export const CONFIRM_FIELDS = {
  callId: is.required(is.anyText),
  confirmed: is.required(is.flag),
  message: is.anyText,
} as const satisfies is.Fields;
