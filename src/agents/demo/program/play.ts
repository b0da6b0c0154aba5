/** Plays a script: turns in order, each with its thoughts, words and calls; README.md tells the rules. */
import { integerOf, textOf } from '../native.ts';
import { perform } from './actions.ts';
import { type Call, type Item, type Script, type Turn, words } from './script.ts';
import { isMapping, type Mapping } from './shapes.ts';
import { Ending, fill, fillAll, finish, pause, type Stage } from './stage.ts';
import { doWork, type Result } from './work.ts';

const PIECE_MS = 15;
const EDITS = ['write_file', 'edit_file'];

/** A call that the model asked for. */
interface Open {
  id: string;
  call: Call;
  input: Mapping;
  parent: string | null;
  /** The answer where the call may not run. */
  refused: Result | null;
  started_ms: number | null;
}

/** Plays it to its end; returns the exit code. Only a scripted crash throws. */
export async function play(script: Script, stage: Stage): Promise<number> {
  try {
    await playItems(stage, script.steps, null);
    for (const settle of stage.background) await settle();
    return finish(stage, 'ok');
  } catch (error) {
    if (error instanceof Ending) return error.exit_code;
    throw error;
  }
}

/** Returns the last words spoken: a sub-agent's answer. */
async function playItems(stage: Stage, items: Item[], parent: string | null): Promise<string> {
  let answer = '';
  for (const item of items) {
    await pause(stage, item.pause_ms);
    if (item.turn) answer = await playTurn(stage, item.turn, parent);
    for (const action of item.actions) await perform(action, stage, parent);
  }
  return answer;
}

async function playTurn(stage: Stage, turn: Turn, parent: string | null): Promise<string> {
  const { output } = stage;
  stage.turns += 1;
  const number = `${stage.turns}${stage.id_suffix}`;
  const id = `m${number}`;
  if (parent === null) stage.turn_id = `t${number}`;
  const limits = {
    ...(turn.allowed === null ? {} : { allowed: turn.allowed }),
    ...(turn.mode === null ? {} : { mode: turn.mode }),
  };
  output.emit({ t: 'turn', id: `t${number}`, ...limits }, parent);
  if (turn.think !== null) output.emit({ t: 'think', id, text: fill(stage, turn.think) }, parent);
  const said = turn.say.map((text) => fill(stage, text));
  const pieces = turn.stream ?? (stage.stream ? words(said.join('\n')) : []);
  for (const text of pieces) {
    output.emit({ t: 'text_delta', id, text: fill(stage, text) }, parent);
    await pause(stage, PIECE_MS);
  }
  for (const text of said) output.emit({ t: 'text', id, text }, parent);
  if (turn.usage) output.emit({ t: 'usage', ...turn.usage, model: stage.model }, parent);
  await playCalls(stage, turn.calls, parent);
  const reason = turn.calls.some((item) => 'tool' in item) ? 'calls' : 'stop';
  output.emit({ t: 'turn_end', id: `t${number}`, reason }, parent);
  return said.join('\n');
}

async function playCalls(stage: Stage, items: Turn['calls'], parent: string | null): Promise<void> {
  let together: Call[] = [];
  const flush = async () => {
    const calls = together;
    together = [];
    if (calls.length > 0) await playTogether(stage, calls, parent);
  };
  for (const item of items) {
    if ('tool' in item && item.options.parallel === true) {
      together.push(item);
      continue;
    }
    await flush();
    if ('tool' in item) await playCall(stage, item, parent);
    else await perform(item, stage, parent);
  }
  await flush();
}

async function playCall(stage: Stage, call: Call, parent: string | null): Promise<void> {
  const open = ask(stage, call, parent);
  if (!open.refused) {
    await start(stage, open);
    await pause(stage, integerOf(call.options, 'pause_ms') ?? 0);
  }
  close(stage, open, open.refused ?? (await work(stage, open, true)));
}

/** All are asked for before any starts; the answers come in the other order, so that pairing by place is caught. */
async function playTogether(stage: Stage, calls: Call[], parent: string | null): Promise<void> {
  const opened = calls.map((call) => ask(stage, call, parent));
  for (const open of opened) if (!open.refused) await start(stage, open);
  const pauses = calls.map((call) => integerOf(call.options, 'pause_ms') ?? 0);
  await pause(stage, Math.max(...pauses));
  const results = new Map<Open, Result>();
  const plain = opened.filter((open) => open.call.subagent === null && !open.refused);
  await Promise.all(plain.map(async (open) => results.set(open, await work(stage, open, false))));
  for (const open of opened.reverse()) {
    close(stage, open, open.refused ?? results.get(open) ?? (await work(stage, open, false)));
  }
}

/** The model asks for a call, and it is decided whether it may run. */
function ask(stage: Stage, call: Call, parent: string | null): Open {
  stage.calls += 1;
  const id = `c${stage.calls}${stage.id_suffix}`;
  const input = fillAll(stage, call.input) as Mapping;
  const server = call.server === null ? {} : { server: call.server };
  stage.output.emit({ t: 'call', id, tool: call.tool, ...server, input }, parent);
  const open: Open = { id, call, input, parent, refused: null, started_ms: null };
  decide(stage, open);
  return open;
}

function decide(stage: Stage, open: Open): void {
  const { output } = stage;
  const { id, call, parent } = open;
  const needed = textOf(call.options, 'require_approval');
  const denied = textOf(call.options, 'deny');
  const reason = needed ?? denied ?? textOf(call.options, 'ask');
  if (reason === null) return;
  const common = { call: id, tool: call.tool, reason };
  const covered =
    stage.approve === 'all' || (stage.approve === 'edits' && EDITS.includes(call.tool));
  if (covered && needed === null && denied === null) {
    output.emit({ t: 'decision', ...common, decision: 'allow', source: 'mode' }, parent);
    return;
  }
  const request = `p${id.slice(1)}`;
  output.emit({ t: 'permission', request, ...common }, parent);
  const answer = denied === null ? 'allow' : 'deny';
  const decision = needed === null ? answer : 'require_approval';
  const source = needed === null ? 'user' : 'policy';
  output.emit({ t: 'decision', request, ...common, decision, source }, parent);
  if (decision === 'allow') return;
  open.refused = { status: 'denied', exit_code: null, output: `not permitted: ${reason}` };
}

async function start(stage: Stage, open: Open): Promise<void> {
  const { call, id, parent } = open;
  open.started_ms = stage.output.emit({ t: 'call_start', call: id }, parent);
  for (const action of call.during) await perform(action, stage, parent);
  const retry = call.options.retry_call;
  const setup: Mapping = isMapping(retry) ? retry : { attempts: retry ?? 0 };
  const attempts = integerOf(setup, 'attempts') ?? 1;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const max = integerOf(setup, 'max') ?? attempts;
    const why = textOf(setup, 'why') ?? 'transient';
    stage.output.emit({ t: 'call_retry', call: id, attempt, max, why, action: 'retry' }, parent);
  }
}

/** `live`: a command's output is shown while it runs. */
async function work(stage: Stage, open: Open, live: boolean): Promise<Result> {
  const { call, id, input, parent } = open;
  const told = textOf(call.options, 'output');
  if (told !== null || call.options.status !== undefined) {
    const status = (call.options.status ?? 'ok') as Result['status'];
    return { status, exit_code: integerOf(call.options, 'exit_code'), output: told ?? '' };
  }
  if (call.subagent) {
    const output = await playItems(stage, call.subagent, id);
    return { status: 'ok', exit_code: null, output };
  }
  const show = (text: string) =>
    void stage.output.emit({ t: 'call_output', call: id, text }, parent);
  const apart = call.options.background === true;
  const done = doWork(call.tool, input, {
    cwd: stage.cwd,
    timeout_ms: integerOf(call.options, 'timeout_ms'),
    progress: live && !apart ? show : null,
  });
  if (!apart) return done;
  stage.background.push(async () => {
    const { status, exit_code } = await done;
    stage.output.emit({ t: 'call_late', call: id, status, exit_code }, parent);
  });
  return { status: 'ok', exit_code: null, output: 'started in the background' };
}

function close(stage: Stage, open: Open, result: Result): void {
  const { output } = stage;
  const { id, parent, started_ms } = open;
  if (result.file) output.emit({ t: 'file', call: id, ...result.file }, parent);
  const now = started_ms === null ? null : output.now();
  const ms = now === null || started_ms === null ? {} : { ms: Math.max(0, now - started_ms) };
  const { status, exit_code } = result;
  output.emit({ t: 'call_end', call: id, status, exit_code, output: result.output, ...ms }, parent);
  const needed = textOf(open.call.options, 'require_approval');
  if (needed !== null) finish(stage, 'approval_required', needed);
  const expected = isMapping(open.call.options.expect) ? open.call.options.expect : {};
  const missed = mismatch(expected, result);
  if (missed !== null) finish(stage, 'agent_error', `call ${id} (${open.call.tool}): ${missed}`);
}

function mismatch(expected: Mapping, result: Result): string | null {
  for (const field of ['status', 'exit_code'] as const) {
    const wanted = expected[field];
    if (wanted !== undefined && wanted !== result[field]) {
      return `${field} is ${result[field]}, the script expects ${wanted}`;
    }
  }
  const piece = textOf(expected, 'contains');
  if (piece === null || result.output.includes(piece)) return null;
  return `the output does not contain ${JSON.stringify(piece)}`;
}
