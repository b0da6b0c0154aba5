/** Journal entries → rows of the search index, and the facts about their runs. */
import { isMap } from '../../lib/own.ts';
import { wellFormed } from '../../lib/utf8.ts';
import { type EventText, eventText, isSearchable, PLACES } from './event-text.ts';
import { GAP, splitText, toolMarks, withoutData } from './index-text.ts';
import { SEARCH_LIMITS } from './limits.ts';

/** The content of a row, split for SQLite's tokenizer. */
export interface Row {
  place: number;
  words: string;
  marks: string;
  paths: string;
  /** A part of its text is not indexed. */
  cut: boolean;
}

/** Facts about a run from its first event, for runs without an outcome. */
export interface RunFacts {
  agent: string;
  model: string | null;
  project: string | null;
  labels: string;
}

export interface Entry {
  kind: string;
  at_ms: number;
  data: unknown;
}

const KIND =
  /^\{"v":\d+,"run_id":"[^"]*","seq":\d+,"at_ms":-?\d+,"at_source":"\w+","step":\d+,"kind":"(\w+)"/;
/** Far more than the beginning of an event needs. */
const HEAD_BYTES = 512;

/** The event in a journal entry. Null if it is not an event, or if it has nothing to search. */
export function entryIn(bytes: Buffer, start: number, end: number): Entry | null {
  const head = KIND.exec(bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES)));
  if (head !== null && !isSearchable(head[1] as string)) return null;
  try {
    return entryOf(JSON.parse(bytes.toString('utf8', start, end)));
  } catch {
    return null;
  }
}

export function entryOf(value: unknown): Entry | null {
  if (!isMap(value) || typeof value.kind !== 'string') return null;
  const { kind, at_ms, data } = value;
  return { kind, data, at_ms: typeof at_ms === 'number' && at_ms > 0 ? at_ms : 0 };
}

/** Null if the event has nothing to search. */
export function rowIn({ kind, data }: Entry): Row | null {
  const found = eventText(kind, data);
  return found === null ? null : rowFrom(found);
}

function rowFrom({ place, texts, paths, tool }: EventText): Row {
  const content = columnOf(texts);
  const named = columnOf(paths);
  const marks = tool === null ? [] : toolMarks(tool);
  return {
    place: PLACES.indexOf(place),
    words: content.text,
    marks: wellFormed([...marks, ...content.whole].join(' ')),
    paths: named.text,
    cut: content.cut || named.cut,
  };
}

/** Texts as one column, without their encoded data and without the text beyond the limit. */
function columnOf(texts: readonly string[]): { text: string; whole: Set<string>; cut: boolean } {
  const column = { text: '', whole: new Set<string>(), cut: false };
  let room: number = SEARCH_LIMITS.text_chars_max;
  for (const given of texts) {
    const bounded = withoutData(given.slice(0, room));
    room -= Math.min(room, given.length);
    column.cut ||= bounded.length !== given.length;
    const { numbers_min, numbers_every_chars } = SEARCH_LIMITS;
    const numbers_max = numbers_min + Math.floor(bounded.length / numbers_every_chars);
    const { text, whole, cut } = splitText(bounded, numbers_max);
    column.cut ||= cut;
    column.text += column.text === '' ? text : ` ${GAP} ${text}`;
    for (const word of whole) column.whole.add(word);
  }
  column.text = wellFormed(column.text);
  return column;
}

/** `run_started` has them; any other first event has none. */
export function factsOf({ kind, data }: Entry): RunFacts {
  const nothing = { agent: '', model: null, project: null, labels: '{}' };
  if (kind !== 'run_started' || !isMap(data)) return nothing;
  const { agent, model, config, project } = data;
  const labels = isMap(config) && isMap(config.labels) ? config.labels : {};
  return {
    agent: typeof agent === 'string' ? wellFormed(agent) : '',
    model: typeof model === 'string' ? wellFormed(model) : null,
    project: isMap(project) && typeof project.path === 'string' ? wellFormed(project.path) : null,
    labels: wellFormed(JSON.stringify(labels)),
  };
}
