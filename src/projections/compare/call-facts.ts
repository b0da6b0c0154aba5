/** Events → the facts of a run's calls that decide whether they are the same as those of another run. Pure. */
import { callText, subjectOf } from '../../lib/call-text.ts';
import { PATH_FIELDS } from '../../lib/paths.ts';
import { headCopy } from '../../lib/utf8.ts';
import type { CallRef } from '../../model/comparison.ts';
import type { Event } from '../../model/event.ts';
import type { OutcomeCall, RunOutcome } from '../../model/outcome.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import { createOutcomeFold } from '../outcome.ts';
import type { OpenCall } from '../outcome-calls.ts';
import {
  digestOf,
  overlap,
  overlapAtMost,
  type Sketch,
  sketchOf,
  sketchOfWord,
} from './similarity.ts';
import { createVolatile, type Volatile } from './volatile.ts';

const ABOUT_CHARS_MAX = 200;
/** Deeper values are compared as JSON text. */
const DEPTH_MAX = 6;

/** A call, as far as a comparison needs it. */
export interface CallFacts {
  /** Its name, place and result. */
  call: CallRef;
  /** Equal for calls of the same tool with the same input. */
  key: string;
  /** Hashes of the words of the most informative field. */
  subject: Sketch;
  /** Hashes of the words of the whole input. */
  words: Sketch;
  /** Equal for equal outputs; null if there is none. */
  output: string | null;
}

/** A run, as far as a comparison needs it. */
export interface RunFacts {
  outcome: RunOutcome;
  /** False: the record has no end. */
  finished: boolean;
  calls: CallFacts[];
  /** Calls beyond the limit. */
  calls_not_compared: number;
}

/** A command's description is written by the model for people: it changes nothing. */
const isNoise = (name: string, fields: object) => name === 'description' && 'command' in fields;

/** All values of an input with their names, in a fixed order. */
function flat(value: unknown, volatile: Volatile, depth = 0): string {
  if (typeof value === 'string') return volatile.input(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (depth > DEPTH_MAX) return volatile.input(JSON.stringify(value));
  if (Array.isArray(value))
    return value.map((one) => flat(one, volatile, depth + 1)).join('\u0001');
  const fields = value as Record<string, unknown>;
  return Object.keys(fields)
    .filter((name) => !isNoise(name, fields))
    .sort()
    .map((name) => `${name}\u0002${flat(fields[name], volatile, depth + 1)}`)
    .join('\u0003');
}

function outputOf(output: string | null | undefined, volatile: Volatile): string | null {
  if (output == null) return null;
  const most = PROJECTION_LIMITS.compared_output_chars;
  const head = volatile.output(output.slice(0, most));
  return digestOf(output.length > most ? head + output.slice(most) : head);
}

/** The facts of an input that decide whether two calls of a tool are the same. */
export function inputFacts(input: unknown, tool: string, volatile: Volatile) {
  const text = flat(input, volatile);
  const key = `${tool}\n${digestOf(text)}`;
  const found = subjectOf(input, tool);
  const head = (of: string) => of.slice(0, PROJECTION_LIMITS.compared_input_chars);
  if (found === null) {
    const words = sketchOf(head(text));
    return { key, subject: words, words };
  }
  const value = volatile.input(head(found.value));
  // Two files in one folder are not similar, so a path is one word.
  const subject = PATH_FIELDS.has(found.name) ? sketchOfWord(value) : sketchOf(value);
  // A command without other fields is its whole input.
  const fields = input as Record<string, unknown>;
  const alone = Object.keys(fields).every((name) => name === found.name || isNoise(name, fields));
  return { key, subject, words: alone ? subject : sketchOf(head(text)) };
}

/** From this share of common words on, two inputs are versions of the same call. */
const SIMILAR_MIN = 0.5;

type Inputs = Pick<CallFacts, 'subject' | 'words'>;

/** The similarity of two inputs of one tool, from 0 to 1. Below the minimum, it is 0. */
export function likeness(a: Inputs, b: Inputs): number {
  const most = overlapAtMost(a.words, b.words);
  if (most + overlapAtMost(a.subject, b.subject) < 2 * SIMILAR_MIN) return 0;
  const subject = overlap(a.subject, b.subject);
  if (most + subject < 2 * SIMILAR_MIN) return 0;
  const similarity = (subject + overlap(a.words, b.words)) / 2;
  return similarity >= SIMILAR_MIN ? similarity : 0;
}

export function createRunFacts() {
  const calls: (CallFacts | undefined)[] = [];
  const requested = new Map<string, number>();
  let volatile = createVolatile([]);
  let cwd: string | null = null;
  let project: string | null = null;
  let finished = false;
  const fold = createOutcomeFold({ keepIo: true, onCall: take });

  function take(call: OutcomeCall, index: number, open: OpenCall): void {
    const { name: tool, status, exit_code, inputs, outputs } = call;
    const seq = requested.get(open.call_id) ?? last;
    requested.delete(open.call_id);
    if (index >= PROJECTION_LIMITS.compared_calls_max) return;
    const about = headCopy(callText(inputs, cwd, tool), ABOUT_CHARS_MAX);
    calls[index] = {
      call: {
        ...{ number: index + 1, seq, call_id: open.call_id, tool, about, status, exit_code },
        parent_call_id: call.parent_id,
      },
      ...inputFacts(inputs, tool, volatile),
      output: outputOf(outputs, volatile),
    };
  }

  let last = 1;
  return {
    push(event: Event): void {
      last = event.seq;
      if (event.kind === 'call_requested' && !requested.has(event.data.call_id))
        requested.set(event.data.call_id, event.seq);
      else if (event.kind === 'run_started' || event.kind === 'session_started') {
        cwd ??= event.data.cwd;
        if (event.kind === 'run_started') project = event.data.project?.path ?? null;
        volatile = createVolatile([cwd, project]);
      }
      finished = event.kind === 'run_finished';
      fold.push(event);
    },
    /** The facts so far; to be called once. */
    finish(): RunFacts {
      const outcome = fold.finish();
      for (const [index, patch] of fold.patches) {
        const call = calls[index]?.call;
        if (call === undefined) continue;
        call.status = patch.status ?? call.status;
        call.exit_code = patch.exit_code ?? call.exit_code;
      }
      const kept = calls.filter((facts) => facts !== undefined);
      const calls_not_compared = outcome.metrics.tool_calls_count - kept.length;
      return { outcome, finished, calls: kept, calls_not_compared };
    },
  };
}

/** The calls of a run, for `alignCalls`. */
export function callsOf(events: Iterable<Event>): CallFacts[] {
  const facts = createRunFacts();
  for (const event of events) facts.push(event);
  return facts.finish().calls;
}
