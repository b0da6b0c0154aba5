/** The contract of `openagent.run_event.v1` as rules. Their ids are the ids of its requirements. */

import { LastSet } from '../lib/bounded.ts';
import { LIMITS } from '../lib/limits.ts';
import { own } from '../lib/own.ts';
import { utf8Bytes } from '../lib/utf8.ts';
import { CONTENT_PREVIEW_MAX_BYTES } from '../model/words.ts';
import { CONFORMANCE_LIMITS } from './limits.ts';
import { eachRecord, lineAt, linesRule, type RecordRule, schemaRule } from './records.ts';

const section = 'Run events';
const NO_RECORD = 'there are no records';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const STRING_BYTES_MAX = CONTENT_PREVIEW_MAX_BYTES;

const rule = (id: string, title: string, nothing = NO_RECORD) => ({
  id,
  title,
  section,
  threshold: 1,
  nothing,
});

/** Bytes of the first string that is too long; null when there is none. */
function longString(value: unknown, depth = 0): number | null {
  if (typeof value === 'string') {
    const bytes = utf8Bytes(value);
    return bytes > STRING_BYTES_MAX ? bytes : null;
  }
  if (typeof value !== 'object' || value === null || depth > LIMITS.depth_max) return null;
  for (const item of Object.values(value)) {
    const found = longString(item, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** The order of a call's records. */
const STAGES: Readonly<Record<string, number>> = {
  tool_call_detected: 1,
  tool_decision: 2,
  tool_exec_started: 3,
  tool_exec_finished: 4,
};

const calls: RecordRule = {
  ...rule(
    'RE-11',
    "a call's records are in order, and each started call is finished",
    'there are no calls',
  ),
  create(tally) {
    const open = new Map<string, { stage: number; line: number }>();
    // Only the latest ones are remembered.
    const finished = new LastSet<string, number>(CONFORMANCE_LIMITS.calls_max);
    const stageOf = (call: string) => finished.get(call) ?? open.get(call)?.stage ?? 0;

    function wrong(call: string, stage: number, type: string): string | null {
      const before = stageOf(call);
      if (stage > 1 && before === 0) return `call ${call}: ${type} before tool_call_detected`;
      return stage <= before ? `call ${call}: ${type} is repeated or out of order` : null;
    }

    return {
      push({ value, line }) {
        const stage = own(STAGES, String(value?.type));
        if (stage === undefined) return;
        const call = String((value?.data as Record<string, unknown> | null)?.tool_call_id);
        tally.judge(lineAt(line), wrong(call, stage, String(value?.type)));
        const reached = Math.max(stage, stageOf(call));
        if (reached === STAGES.tool_exec_finished) {
          open.delete(call);
          finished.set(call, reached);
        } else open.set(call, { stage: reached, line });
      },
      end() {
        for (const [call, { stage, line }] of open)
          if (stage === STAGES.tool_exec_started)
            tally.judge(lineAt(line), `call ${call} was started but never finished`);
      },
    };
  },
};

const lastRecord: RecordRule = {
  ...rule('RE-12', 'exactly one run_finished, and it is the last record'),
  create(tally) {
    let finished: number | null = null;
    let lines = 0;
    return {
      push({ value, line }) {
        lines = line;
        if (finished !== null) {
          const what = value === null ? 'a line' : String(value.type);
          tally.judge(lineAt(line), `${what} after run_finished (line ${finished})`);
        } else if (value?.type === 'run_finished') {
          finished = line;
          const { ok, exit_reason } = (value.data ?? {}) as Record<string, unknown>;
          const fits = ok === (exit_reason === 'ok');
          tally.judge(lineAt(line), fits ? null : `ok is ${ok} with exit_reason ${exit_reason}`);
        }
      },
      end() {
        if (finished === null && lines > 0) tally.judge(lineAt(lines), 'there is no run_finished');
      },
    };
  },
};

const sequence = eachRecord(rule('RE-4', 'sequence starts at 1 and grows by exactly 1'), () => {
  let last = 0;
  return ({ sequence: found }) => {
    const due = last + 1;
    last = typeof found === 'number' ? found : due;
    return found === due ? null : `sequence is ${JSON.stringify(found)}, but ${due} was expected`;
  };
});

const time = eachRecord(rule('RE-5', 'ts has milliseconds and never goes back'), () => {
  let last = '';
  return ({ ts }) => {
    if (typeof ts !== 'string' || !TIME.test(ts))
      return `ts is ${JSON.stringify(ts)}, not a UTC time with milliseconds`;
    const back = ts < last;
    const before = last;
    last = ts;
    return back ? `ts ${ts} is before ${before}` : null;
  };
});

const sameRun = eachRecord(rule('RE-6', 'run_id is the same on every line'), () => {
  let run_id: unknown;
  return ({ run_id: found }) => {
    run_id ??= found;
    return found === run_id
      ? null
      : `run_id is ${JSON.stringify(found)}, not ${JSON.stringify(run_id)}`;
  };
});

const steps = eachRecord(rule('RE-7', 'step never goes back'), () => {
  let last = 0;
  return ({ step }) => {
    const before = last;
    if (typeof step === 'number') last = step;
    return typeof step === 'number' && step >= before ? null : `step is ${step} after ${before}`;
  };
});

const sizes = eachRecord(
  rule('RE-10', `strings in data are at most ${STRING_BYTES_MAX} bytes`),
  () =>
    ({ data }) => {
      const bytes = longString(data);
      return bytes === null ? null : `a string has ${bytes} bytes`;
    },
);

export const RUN_EVENT_RULES: readonly RecordRule[] = [
  linesRule({ id: 'RE-3', section }),
  sequence,
  time,
  sameRun,
  steps,
  sizes,
  calls,
  lastRecord,
  schemaRule({ id: 'RE-25', section }),
];
