/**
 * Adds the fields in folders of recordings to src/agents/<id>/generated/fields.ts, the fields of an agent's records,
 * and then runs scripts/generate.ts: `node scripts/shapes.ts [--fresh] [--agent id] FOLDER…`.
 * --fresh drops fields that these recordings do not show.
 * FOLDER/<agent>[-version][/testdata]/<scenario>/{stdout*.jsonl, event.jsonl, session/…}.
 * src/agents/<id>/shapes.ts declares the kinds of records, and which fields belong to others.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { AGENT_IDS, findAgent } from '../src/agents/registry.ts';
import { type ConvertFrom, decoderFor, eventsOf } from '../src/app/sessions/convert.ts';
import { objectOf, watched } from '../src/app/sessions/drift-fields.ts';
import { parseShape, type Shape } from '../src/lib/shape.ts';
import type { Agent, RecordShapes } from '../src/model/agent.ts';
import { keyOf, shapesOf } from './native-types.ts';

const root = join(import.meta.dirname, '..');
const DEPTH_MAX = 8;
/** A field counts as always present only if enough records of several recordings have it. */
const RECORDS_MIN = 5;
const RECORDINGS_MIN = 3;
/** Names of fields in programs; other names are keys of a map. */
const NAME = /^[$A-Za-z_][\w$-]{0,59}$/;
const NO_SESSION =
  /(^|\/)(hooks\.jsonl|state\.json|\d+_\w+\.json|tool-results\/.*|.*\.meta\.json)$/;
const COLUMNS = 96;

interface Seen {
  count: number;
  recordings: Set<string>;
  fields: Map<string, SeenField>;
}
interface SeenField {
  count: number;
  opaque: boolean;
  /** From the declaration: recordings cannot prove that every text there is JSON. */
  json: boolean;
  inner: Map<string, Seen>;
}

/** Number of records assumed for earlier fields; with --fresh only marks of JSON texts are kept. */
const BEFORE = 1_000;

function seenIn(shape: Shape | null): Map<string, Seen> {
  const kinds = [...(shape ?? [])].map(([kind, { fields }]): [string, Seen] => {
    const known = [...fields].map(([name, field]): [string, SeenField] => {
      const count = field.always ? BEFORE : BEFORE - 1;
      const inner = seenIn(field.inner);
      return [
        name,
        { ...field, inner, ...(values.fresh ? { count: 0, opaque: false } : { count }) },
      ];
    });
    const before = Array.from({ length: RECORDINGS_MIN }, (_, n) => String(n));
    const recordings = new Set(values.fresh ? [] : before);
    return [kind, { count: values.fresh ? 0 : BEFORE, recordings, fields: new Map(known) }];
  });
  return new Map(kinds);
}

type Native = Readonly<Record<string, unknown>>;

class Collector {
  readonly kinds = new Map<string, Seen>();
  recording = '';
  readonly #shapes: RecordShapes;

  constructor(shapes: RecordShapes, known: Readonly<Record<string, string>>) {
    this.#shapes = shapes;
    for (const [kind, text] of Object.entries(known)) {
      const seen = seenIn(parseShape(text, '')).get('');
      if (seen !== undefined) this.kinds.set(kind, seen);
    }
  }

  record(record: Native, into = this.kinds, depth = 1): void {
    const kind = this.#shapes.kindOf(record);
    // A record without a kind belongs to another protocol.
    if (kind === '' && depth === 1) return;
    const seen: Seen = into.get(kind) ?? { count: 0, recordings: new Set(), fields: new Map() };
    into.set(kind, seen);
    seen.count += 1;
    seen.recordings.add(this.recording);
    for (const [name, value] of Object.entries(record)) {
      const field = seen.fields.get(name) ?? {
        count: 0,
        opaque: false,
        json: false,
        inner: new Map(),
      };
      seen.fields.set(name, field);
      field.count += 1;
      field.opaque ||= this.#shapes.opaque.includes(name) || depth >= DEPTH_MAX;
      if (!field.opaque) this.#inside(value, field, depth);
    }
  }

  #inside(value: unknown, field: SeenField, depth: number): void {
    if (Array.isArray(value)) for (const item of value) this.#inside(item, field, depth);
    else {
      const object = objectOf(value, field.json);
      if (object === null) return;
      if (Object.keys(object).some((name) => !NAME.test(name))) field.opaque = true;
      else this.record(object, field.inner, depth + 1);
    }
  }
}

/** The fields in the notation of lib/shape. */
function textOf(seen: Seen): string {
  const enough = seen.count >= RECORDS_MIN && seen.recordings.size >= RECORDINGS_MIN;
  const shown = [...seen.fields].filter(([, { count }]) => count > 0);
  const fields = shown.map(([name, { count, opaque, json, inner }]) => {
    const mark = enough && count === seen.count ? '' : '?';
    if (opaque) return `${name}${mark}*`;
    const kinds = [...inner].filter(([, { count, fields }]) => count > 0 && fields.size > 0);
    if (kinds.length === 0) return `${name}${mark}`;
    const plain = kinds.length === 1 && kinds[0]?.[0] === '';
    const texts = kinds.map(([kind, one]) => (plain ? textOf(one) : `<${kind}> ${textOf(one)}`));
    return `${name}${mark}${json ? '"' : ''}{${texts.join(' ')}}`;
  });
  return fields.join(' ');
}

function wrapped(text: string): string {
  if (text.length <= COLUMNS) return text;
  return text
    .split(' ')
    .reduce((lines: string[], word) => {
      const last = lines.at(-1);
      if (last !== undefined && last.length + word.length < COLUMNS)
        lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
      return lines;
    }, [])
    .map((line) => `\n    ${line}`)
    .join('');
}

type Kinds = ReadonlyMap<string, Seen>;

function sourceOf(name: string, kinds: Kinds): string {
  const rows = [...kinds]
    .filter(([, { count }]) => count > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, seen]) => `  ${keyOf(kind)}: \`${wrapped(textOf(seen))}\`,\n`);
  return `export const ${name}: Readonly<Record<string, string>> = {\n${rows.join('')}};\n`;
}

function writeFields(path: string, stdout: Kinds, session: Kinds): void {
  const head =
    '/** Fields of the records, as the recordings show them, in the notation of lib/shape. Made by scripts/shapes.ts. */\n';
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, [head, sourceOf('STDOUT', stdout), sourceOf('SESSION', session)].join('\n'));
}

function filesOf(folder: string): { from: ConvertFrom; path: string }[] {
  const session = join(folder, 'session');
  const kept = existsSync(session)
    ? readdirSync(session, { recursive: true, encoding: 'utf8' })
    : [];
  return [
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /^(?!session\/)([^/]+\/)?(stdout|(global-)?event)[^/]*\.jsonl$/.test(name))
      .map((name) => ({ from: 'stdout' as const, path: join(folder, name) })),
    ...kept
      .filter((name) => /\.jsonl?$/.test(name) && !NO_SESSION.test(name))
      .sort()
      .map((name) => ({ from: 'session' as const, path: join(session, name) })),
  ];
}

/** One chunk: the files of a session are read separately. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield readFileSync(path);
}

async function collect(agent: Agent, shapes: RecordShapes, folders: readonly string[]) {
  const { stdout, session } = shapes;
  const seen = { stdout: new Collector(shapes, stdout), session: new Collector(shapes, session) };
  for (const folder of folders) {
    for (const { from, path } of filesOf(folder)) {
      const collector = seen[from];
      // A recording may exist in several places.
      collector.recording = basename(folder);
      const decoder = watched(decoderFor(agent, from), (record) => collector.record(record));
      const input = bytesOf(path);
      for await (const _ of eventsOf({ agent, from, input, decoder }));
    }
  }
  return seen;
}

/** Folders of an agent's scenarios in a folder of recordings. */
function scenariosIn(captures: string, id: string): string[] {
  return readdirSync(captures)
    .filter((name) => name.replace(/-\d[\d.]*$/, '') === id)
    .map((name) => join(captures, name))
    .map((path) => (existsSync(join(path, 'testdata')) ? join(path, 'testdata') : path))
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .filter((path) => statSync(path).isDirectory());
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { fresh: { type: 'boolean' }, agent: { type: 'string' } },
});
if (positionals.length === 0) throw new Error('give the folders of the recordings');
for (const id of AGENT_IDS.filter((one) => one === (values.agent ?? one))) {
  const path = join(root, 'src/agents', id, 'generated/fields.ts');
  // A new agent has no such file yet, and its shapes.ts imports it.
  if (!existsSync(path)) writeFields(path, new Map(), new Map());
  const agent = await findAgent(id);
  const shapes = await shapesOf(id);
  const folders = positionals.flatMap((captures) => scenariosIn(captures, id));
  if (agent === undefined || folders.length === 0) continue;
  const { stdout, session } = await collect(agent, shapes, folders);
  writeFields(path, stdout.kinds, session.kinds);
  process.stderr.write(`${id}: ${folders.length} recordings\n`);
}
execFileSync(process.execPath, [join(root, 'scripts/generate.ts')]);
