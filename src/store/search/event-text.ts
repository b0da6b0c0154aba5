/**
 * The searchable part of an event: prompts, answers, thinking, inputs and outputs of tools, file paths, errors.
 * Contract: entries of the journal may be foreign, so every field is checked. Texts that another event repeats are left
 * out: the pieces of a streamed text, the progress of a call, the final output of a run.
 */
import { isMap, own } from '../../lib/own.ts';
import { SEARCH_LIMITS } from './limits.ts';

/** Where a text was found, the most relevant first. The order is stored: an added place is the last one. */
export const PLACES = [
  'prompt',
  'answer',
  'path',
  'input',
  'error',
  'output',
  'thinking',
  'other',
] as const;
/** Where a text was found. */
export type Place = (typeof PLACES)[number];

export interface EventText {
  place: Place;
  /** In the order of the event. Not bounded. */
  texts: string[];
  paths: string[];
  tool: string | null;
}

type Data = Record<string, unknown>;
type Read = (data: Data) => EventText | null;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

const NOTHING = { texts: [], paths: [], tool: null };

/** An event with one or several texts. Null if all are empty. */
function textsOf(place: Place, values: readonly unknown[], tool: unknown = null): EventText | null {
  const texts = values.filter(isText);
  const name = typeof tool === 'string' ? tool : null;
  return texts.length === 0 && name === null ? null : { ...NOTHING, place, texts, tool: name };
}

const ROLES: Readonly<Record<string, Place>> = { user: 'prompt', assistant: 'answer' };

/** Fields of inputs with the path of a file or folder, in canonical and common native names. */
const PATH_FIELDS = new Set(['file_path', 'path', 'notebook_path', 'filePath', 'absolute_path']);

/**
 * Inputs of tools are foreign values of any shape; only their texts and numbers can be found. Native and canonical
 * fields repeat each other.
 */
function inputOf({ input, tool, reads }: Data): EventText {
  const texts = new Set<string>();
  const paths = new Set<string>();
  let chars = 0;
  const take = (value: unknown, key: string): void => {
    if (chars > SEARCH_LIMITS.text_chars_max) return;
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value);
      chars += text.length;
      texts.add(text);
      if (PATH_FIELDS.has(key)) paths.add(text);
    } else if (Array.isArray(value)) for (const one of value) take(one, key);
    else if (isMap(value)) for (const name of Object.keys(value)) take(value[name], name);
  };
  take(input, '');
  if (Array.isArray(reads)) for (const path of reads) if (isText(path)) paths.add(path);
  const name = isText(tool) ? tool : null;
  return { place: 'input', texts: [...texts], paths: [...paths], tool: name };
}

const READERS: Readonly<Record<string, Read>> = {
  run_started: ({ prompt }) => textsOf('prompt', [prompt]),
  message_finished: ({ role, text }) => textsOf(own(ROLES, String(role)) ?? 'other', [text]),
  thinking_finished: ({ text }) => textsOf('thinking', [text]),
  call_requested: inputOf,
  call_finished: ({ output, ok, tool }) =>
    textsOf(ok === false ? 'error' : 'output', [output], tool),
  // Most decisions allow a call, by a mode or a rule.
  call_decided: ({ decision, reason, tool }) =>
    decision === 'allow' || !isText(reason) ? null : textsOf('other', [reason], tool),
  permission_asked: ({ reason, tool }) =>
    isText(reason) ? textsOf('other', [reason], tool) : null,
  step_blocked: ({ reason, tool }) => textsOf('error', [reason], tool),
  file_changed: ({ path }) =>
    typeof path === 'string' ? { ...NOTHING, place: 'path', paths: [path] } : null,
  skill_used: ({ skill }) => textsOf('other', [skill]),
  provider_failed: ({ message }) => textsOf('error', [message]),
  hook_finished: ({ name, output }) => textsOf('output', [name, output]),
  notice: ({ text }) => textsOf('other', [text]),
  problem: ({ code, detail, excerpt }) => textsOf('error', [code, detail, excerpt]),
  agent_ended: ({ error }) => textsOf('error', [error]),
  run_finished: ({ error }) => textsOf('error', [error]),
};

/** Whether events of this kind have texts. */
export const isSearchable = (kind: string) => Object.hasOwn(READERS, kind);

/** Null if the event has nothing to search. */
export function eventText(kind: string, data: unknown): EventText | null {
  return isMap(data) ? (own(READERS, kind)?.(data) ?? null) : null;
}
