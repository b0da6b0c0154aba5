/** Compares the observed run with the expected one. Pure. */
import { createHash } from 'node:crypto';
import { checkRunEvents } from '../test/contract/check-run-event.ts';
import type { Observed } from './rehearse.ts';
import type { Expected, ExpectedCall, Scenario } from './scenarios.ts';

export interface Line {
  type: string;
  data: Record<string, unknown>;
}

/** Maximum number of contract violations reported per stream; the first ones explain the rest. */
const BREACHES_MAX = 3;

/** All deviations from the expectations, as short sentences; empty if there are none. */
export function judge(scenario: Scenario, expect: Expected, observed: Observed): string[] {
  const killed = scenario.act === 'kill_tacho';
  // For a killed tacho, the record is the one recovered afterwards.
  const records = recordsIn(killed ? observed.replay : observed.stdout);
  return [
    ...judgeProcess(expect, observed),
    ...judgeStreams(killed, observed),
    ...judgeEnd(expect, records),
    ...judgeCalls(expect, corrected(records, observed.events)),
    ...judgeProvider(expect, records),
    ...judgeSurroundings(scenario.prompt, expect, observed),
    ...judgeTalk(scenario.talk ?? [], observed),
  ];
}

function recordsIn(stream: Buffer): Line[] {
  return stream
    .toString('utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Line];
      } catch {
        return [];
      }
    });
}

/** A sentence if `found` is not `wanted`. */
export function differs(what: string, found: unknown, wanted: unknown): string[] {
  const [is, should] = [JSON.stringify(found) ?? 'nothing', JSON.stringify(wanted)];
  return is === should ? [] : [`${what} is ${is}, not ${should}`];
}

function judgeProcess(expect: Expected, { report, stderr }: Observed): string[] {
  const bad: string[] = [];
  if (report.over_limit) bad.push('tacho ran over the time limit and was killed');
  if (report.acted === false) bad.push('the run ended before the scenario could interfere');
  const exit = differs('exit code', report.exit_code, expect.exit);
  bad.push(...exit);
  if (exit.length > 0 && stderr.trim() !== '') bad.push(`stderr: ${stderr.trim().slice(-300)}`);
  if (report.leftovers.length > 0) bad.push(`left behind: ${report.leftovers.join(' | ')}`);
  return bad;
}

function judgeStreams(killed: boolean, { stdout, replay, report }: Observed): string[] {
  const bad = checkRunEvents(stdout, { cut: killed }).slice(0, BREACHES_MAX);
  if (killed) {
    const whole = stdout.subarray(0, stdout.lastIndexOf(0x0a) + 1);
    if (!replay.subarray(0, whole.length).equals(whole)) {
      bad.push('the output before the kill differs from the record');
    }
    bad.push(...checkRunEvents(replay).slice(0, BREACHES_MAX));
  } else if (!replay.equals(stdout)) {
    bad.push('replay differs from the output of the run');
  }
  for (const [question, code] of Object.entries(report.after)) {
    bad.push(...differs(`exit code of ${question}`, code, 0));
  }
  return bad;
}

function judgeEnd(expect: Expected, records: readonly Line[]): string[] {
  const end = records.findLast((record) => record.type === 'run_finished')?.data;
  if (end === undefined) return ['there is no end record'];
  const bad = differs('exit_reason', end.exit_reason, expect.exit_reason);
  if (expect.final_text !== undefined) {
    bad.push(...differs('final_output', end.final_output, expect.final_text));
  }
  if (expect.agent_signal !== undefined) {
    bad.push(...differs('agent_signal', end.agent_signal, expect.agent_signal));
  }
  if (expect.session !== false && typeof end.session_id !== 'string') {
    bad.push('session_id is unknown');
  }
  bad.push(...differs('tool_calls', end.tool_calls, expect.calls.length));
  const usage = end.usage as { input?: unknown; output?: unknown } | null;
  if (expect.usage && !(Number(usage?.input) > 0 && Number(usage?.output) > 0)) {
    bad.push(`usage is ${JSON.stringify(usage)}`);
  }
  const completeness = end.completeness as { grade?: unknown; gaps?: unknown };
  if ((completeness.grade === 'complete') !== expect.complete) {
    bad.push(`completeness is ${completeness.grade} ${JSON.stringify(completeness.gaps)}`);
  }
  return bad;
}

/** Corrections from the session file, such as an exit code, are only in the internal events. */
export function corrected(records: readonly Line[], events: string): Line[] {
  const better = new Map<unknown, Record<string, unknown>>();
  for (const line of events.split('\n')) {
    if (!line.includes('"kind":"call_updated"')) continue;
    const { data } = JSON.parse(line) as Line;
    const known = better.get(data.call_id) ?? {};
    better.set(data.call_id, {
      status: data.status ?? known.status,
      exit_code: data.exit_code ?? known.exit_code,
    });
  }
  return records.map(({ type, data }) => {
    const update = type === 'tool_exec_finished' ? better.get(data.tool_call_id) : undefined;
    if (update === undefined) return { type, data };
    const { status = data.status, exit_code = data.exit_code } = update;
    return { type, data: { ...data, status, exit_code } };
  });
}

export function judgeCalls(
  expect: Pick<Expected, 'calls' | 'any_order' | 'denials'>,
  records: readonly Line[],
): string[] {
  const found = callsIn(records);
  const aligned = expect.any_order ? inOrderOf(expect.calls, found) : found;
  const placed = (parent: number) => aligned.indexOf(found[parent] as ExpectedCall);
  const comparable = aligned.map((call, i) => {
    const { or, status, exit_code } = expect.calls[i] ?? call;
    const { exit_code: code, parent, ...own } = or === call.status ? { ...call, status } : call;
    const rest = parent === undefined ? own : { ...own, parent: placed(parent) };
    return shown(exit_code === undefined ? rest : { ...rest, exit_code: code ?? null });
  });
  const bad = differs('calls', comparable.join(', '), expect.calls.map(shown).join(', '));
  const denials = records.filter(
    ({ type, data }) => type === 'tool_decision' && data.decision === 'deny',
  );
  const denied = expect.calls.filter(({ status }) => status === 'denied');
  return [...bad, ...differs('denials', denials.length, expect.denials ?? denied.length)];
}

function callsIn(records: readonly Line[]): ExpectedCall[] {
  const asked = records.filter((record) => record.type === 'tool_call_detected');
  const ids = asked.map(({ data }) => data.tool_call_id);
  return asked.map(({ data }) => {
    const end = records.find(
      ({ type, data: of }) =>
        type === 'tool_exec_finished' && of.tool_call_id === data.tool_call_id,
    )?.data;
    const parent = data.parent_tool_call_id;
    return {
      tool: String(data.tool),
      status: (end?.status ?? 'unfinished') as ExpectedCall['status'],
      exit_code: (end?.exit_code ?? null) as number | null,
      ...(parent === null ? {} : { parent: ids.indexOf(parent) }),
    };
  });
}

/** `found` in the order of `wanted`; unexpected calls last. */
function inOrderOf(wanted: readonly ExpectedCall[], found: readonly ExpectedCall[]) {
  const rest = [...found];
  const placed = wanted.flatMap(({ tool, status }) => {
    const place = rest.findIndex((call) => call.tool === tool && call.status === status);
    return place < 0 ? [] : rest.splice(place, 1);
  });
  return [...placed, ...rest];
}

function shown({ tool, status, exit_code, parent }: ExpectedCall): string {
  const code = exit_code === undefined ? '' : `(${exit_code})`;
  return `${tool} ${status}${code}${parent === undefined ? '' : ` under ${parent}`}`;
}

function judgeProvider(expect: Expected, records: readonly Line[]): string[] {
  const count = (type: string) => records.filter((record) => record.type === type).length;
  return [
    ...differs('provider retries', count('provider_retry'), expect.provider_retries ?? 0),
    ...differs('provider errors', count('provider_error'), expect.provider_errors ?? 0),
  ];
}

function judgeSurroundings(prompt: string, expect: Expected, observed: Observed): string[] {
  const bad: string[] = [];
  const wanted = createHash('sha256').update(prompt).digest('hex');
  const texts = observed.requests.flatMap((request) => request.user_texts);
  if (!texts.some(({ sha256 }) => sha256 === wanted)) {
    bad.push('the prompt did not reach the model unchanged');
  }
  for (const [path, text] of Object.entries(expect.files ?? {})) {
    bad.push(...differs(path, observed.files[path], text));
  }
  if (/"code":"contradiction"/.test(observed.events)) {
    bad.push('stream and session file contradict each other');
  }
  return bad;
}

/** Each text sent to the agent is in the record once, as a message of the user. */
function judgeTalk(talk: NonNullable<Scenario['talk']>, { events, stderr }: Observed): string[] {
  const said = talk.filter((text) => text !== null);
  const recorded = events.split('\n').flatMap((line) => {
    if (!line.includes('"role":"user"')) return [];
    const { data } = JSON.parse(line) as Line;
    return data.synthetic === false && said.includes(String(data.text)) ? [data.text] : [];
  });
  const refused = stderr.includes('not taken') ? [stderr.trim().slice(-300)] : [];
  return [...refused, ...differs('input', recorded, said)];
}
