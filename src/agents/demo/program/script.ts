/** A script: what it may say, and how its YAML becomes something to play. */
import { readYamlText, type YamlText } from '../../../lib/yaml.ts';
import { END_REASONS, END_STATUSES, RECORD_TYPES } from '../native.ts';
import {
  amount,
  anything,
  count,
  either,
  type Fault,
  fields,
  flag,
  integer,
  isMapping,
  later,
  listOf,
  type Mapping,
  mapping,
  matching,
  oneOf,
  type Shape,
  showPath,
  text,
} from './shapes.ts';

export interface Action {
  name: ActionName;
  args: Mapping;
}
export interface Call {
  tool: string;
  server: string | null;
  input: Mapping;
  /** Everything else the script says of the call. */
  options: Mapping;
  /** The sub-agent's items; null: the call starts none. */
  subagent: Item[] | null;
  /** Played between the call's start and its work. */
  during: Action[];
}
export interface Turn {
  think: string | null;
  say: string[];
  stream: string[] | null;
  calls: (Call | Action)[];
  usage: Mapping | null;
  allowed: string[] | null;
  mode: string | null;
}
/** One entry of `steps`: a turn of the model, actions, or a turn and the actions after it. */
export interface Item {
  pause_ms: number;
  turn: Turn | null;
  actions: Action[];
}
export interface Script {
  about: string;
  model: string | null;
  session_id: string | null;
  timestamps: boolean;
  hide: string[];
  steps: Item[];
}

/** A script that cannot be played; the message names file, line and field of every fault. */
export class ScriptError extends Error {}

const FAULTS_SHOWN_MAX = 10;
const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGABRT', 'SIGSEGV'];
const hex = matching(/^([0-9a-f]{2})*$/i, 'must be bytes as pairs of hexadecimal digits');
const sessionId = matching(/^[0-9A-Za-z-]{1,64}$/, 'must be letters, digits and hyphens');
const seconds = amount;

/** Each action: the fields it takes, and the one that a plain value stands for. */
const ACTIONS = {
  hang: { fields: { ignore_term: flag, end_on_term: flag } },
  crash: { main: 'message', fields: { message: text } },
  exit: { main: 'code', fields: { code: count, without_end: flag } },
  die: { main: 'signal', fields: { signal: oneOf(SIGNALS) } },
  garbage: { main: 'text', fields: { text, bytes_hex: hex } },
  half_line: { main: 'text', fields: { text } },
  flood: { main: 'records', fields: { records: count, bytes: count } },
  long_line: { main: 'bytes', fields: { bytes: count, newline: flag } },
  stderr: { main: 'text', fields: { text } },
  retry_provider: {
    main: 'attempts',
    fields: { attempts: count, max: count, kind: text, status: integer, wait_ms: count },
  },
  provider_error: {
    main: 'message',
    fields: { message: text, kind: text, status: integer, retryable: flag, final: flag },
  },
  block: { main: 'reason', fields: { reason: text, tool: text } },
  child: {
    main: 'seconds',
    fields: { seconds, detach: flag, ignore_term: flag, hold_stdout: flag },
  },
  max_steps: { main: 'error', fields: { error: text } },
  budget: { main: 'error', fields: { error: text } },
  approval_required: { main: 'error', fields: { error: text } },
  denied_end: { main: 'error', fields: { error: text } },
  end: {
    main: 'reason',
    fields: { reason: oneOf(END_REASONS), error: text, exit_code: count },
  },
  sleep_ms: { main: 'ms', fields: { ms: count } },
  raw: { main: 'line', fields: null },
  note: { main: 'text', fields: { text, code: text } },
  hook: {
    main: 'name',
    fields: { name: text, event: text, exit_code: integer, outcome: text, output: text },
  },
  skill: { main: 'name', fields: { name: text } },
} as const satisfies Record<string, ActionRow>;
export type ActionName = keyof typeof ACTIONS;

interface ActionRow {
  main?: string;
  /** Null: any value, which becomes the main field. */
  fields: Readonly<Record<string, Shape>> | null;
}
const ROWS: Readonly<Record<ActionName, ActionRow>> = ACTIONS;
const ACTION_NAMES = Object.keys(ACTIONS) as ActionName[];

const isAction = (name: string): name is ActionName => Object.hasOwn(ACTIONS, name);

/** `true` or nothing: the action as it is; a plain value: its main field; a mapping: its fields. */
function actionShape({ main, fields: table }: ActionRow): Shape {
  if (table === null) return anything;
  const plain = (main === undefined ? undefined : table[main]) ?? flag;
  return either(
    either(plain, (value) => value === true || value === null, anything),
    isMapping,
    fields(table),
  );
}
const actionShapes = Object.fromEntries(
  ACTION_NAMES.map((name) => [name, actionShape(ROWS[name])] as const),
);

const usageShape = fields({
  input: count,
  output: count,
  cache_read: count,
  cache_write: count,
  reasoning: count,
  cost: amount,
});
const callShape = fields(
  {
    tool: text,
    server: text,
    input: mapping,
    parallel: flag,
    background: flag,
    pause_ms: count,
    timeout_ms: count,
    output: text,
    status: oneOf(END_STATUSES),
    exit_code: integer,
    ask: text,
    deny: text,
    require_approval: text,
    retry_call: either(count, isMapping, fields({ attempts: count, max: count, why: text })),
    subagent: later(() => itemsShape),
    during: listOf(fields(actionShapes)),
    expect: fields({ status: oneOf(END_STATUSES), exit_code: integer, contains: text }),
  },
  ['tool'],
);
const isCall = (value: unknown) => isMapping(value) && Object.hasOwn(value, 'tool');
const texts = either(text, Array.isArray, listOf(text));
const turnShapes = {
  think: text,
  say: texts,
  stream: either(flag, Array.isArray, listOf(text)),
  calls: listOf(either(fields(actionShapes), isCall, callShape)),
  usage: usageShape,
  allowed_tools: listOf(text),
  mode: text,
};
const itemsShape: Shape = listOf(fields({ ...actionShapes, ...turnShapes, pause_ms: count }));
const scriptShape = fields(
  {
    about: text,
    model: text,
    session_id: sessionId,
    timestamps: flag,
    hide: listOf(oneOf([...RECORD_TYPES, 'exit_code', 'cost'])),
    steps: itemsShape,
  },
  ['steps'],
);

/** Reads a script. Throws a ScriptError that names the line and the field. */
export function loadScript(source: string, file: string): Script {
  const read = readYamlText(source);
  if (read.fault !== null)
    throw new ScriptError(`${file}:${read.fault.line}: ${read.fault.message}`);
  const value = plainValue(read, file);
  const faults: Fault[] = [];
  scriptShape(value, [], faults);
  if (faults.length > 0) {
    const shown = faults
      .slice(0, FAULTS_SHOWN_MAX)
      .map(({ path, say }) => `${file}:${read.placeOf(path).line}: ${showPath(path)} ${say}`);
    throw new ScriptError(shown.join('\n'));
  }
  return toScript(value as Mapping);
}

/** Aliases are refused: with them a few lines can stand for millions, or for a ring. */
function plainValue({ document }: YamlText, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new ScriptError(`${file}:1: aliases (*name) cannot be used in a script`);
  }
}

const orNull = <T>(value: unknown): T | null => (value === undefined ? null : (value as T));

function toScript(value: Mapping): Script {
  return {
    about: (value.about as string | undefined) ?? '',
    model: orNull(value.model),
    session_id: orNull(value.session_id),
    timestamps: value.timestamps !== false,
    hide: (value.hide as string[] | undefined) ?? [],
    steps: (value.steps as Mapping[]).map(toItem),
  };
}

function toItem(value: Mapping): Item {
  const speaks = Object.keys(turnShapes).some((name) => Object.hasOwn(value, name));
  return {
    pause_ms: (value.pause_ms as number | undefined) ?? 0,
    turn: speaks ? toTurn(value) : null,
    actions: toActions(value),
  };
}

function toTurn(value: Mapping): Turn {
  const stream = Array.isArray(value.stream) ? (value.stream as string[]) : null;
  const said = (value.say as string | string[] | undefined) ?? (stream ? stream.join('') : []);
  const say = typeof said === 'string' ? [said] : said;
  return {
    think: orNull(value.think),
    say,
    stream: stream ?? (value.stream === true ? words(say.join('')) : null),
    calls: ((value.calls as Mapping[] | undefined) ?? []).flatMap<Call | Action>((item) =>
      isCall(item) ? [toCall(item)] : toActions(item),
    ),
    usage: orNull(value.usage),
    allowed: orNull(value.allowed_tools),
    mode: orNull(value.mode),
  };
}

/** The text in pieces as a model would stream it. */
export function words(whole: string): string[] {
  return whole.match(/\s*\S+\s*$|\s*\S+/g) ?? (whole === '' ? [] : [whole]);
}

function toCall(value: Mapping): Call {
  return {
    tool: value.tool as string,
    server: orNull(value.server),
    input: (value.input as Mapping | undefined) ?? {},
    options: value,
    subagent: value.subagent === undefined ? null : (value.subagent as Mapping[]).map(toItem),
    during: ((value.during as Mapping[] | undefined) ?? []).flatMap(toActions),
  };
}

function toActions(value: Mapping): Action[] {
  const actions: Action[] = [];
  for (const [name, given] of Object.entries(value)) {
    if (!isAction(name)) continue;
    const { main, fields: table } = ROWS[name];
    if (main !== undefined && (table === null || !isMapping(given))) {
      const plain = given === true || given === null;
      actions.push({ name, args: plain ? {} : { [main]: given } });
    } else actions.push({ name, args: isMapping(given) ? given : {} });
  }
  return actions;
}
