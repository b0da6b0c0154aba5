/** Parts of a recording that the agent's adapter does not know, or misses (AG-19). */

import { changedText, fromByteText } from '../../lib/byte-text.ts';
import { TachoError } from '../../lib/errors.ts';
import { own } from '../../lib/own.ts';
import type { Event, EventOf } from '../../model/event.ts';
import { APP_LIMITS } from '../limits.ts';
import { type ConvertOptions, decoderFor, eventsOf } from './convert.ts';
import { FieldWatch, NEW_FIELD, watched } from './drift-fields.ts';

/** In listing order. */
const DRIFT_CODES = [
  'unknown_record',
  'bad_record',
  'decoder_fault',
  'new_field',
  'gone_field',
  'bad_line',
] as const;

/** Problems by which an adapter reports an unknown format, and lines that are not records. */
const PROBLEMS: Partial<Record<EventOf<'problem'>['data']['code'], Finding['code']>> = {
  unknown_record: 'unknown_record',
  bad_record: 'bad_record',
  decoder_fault: 'decoder_fault',
  not_json: 'bad_line',
  torn_line: 'bad_line',
  oversize_line: 'bad_line',
  too_deep: 'bad_line',
  invalid_utf8: 'bad_line',
  salvaged_line: 'bad_line',
};

/** A difference between a recording and what the adapter knows. */
export interface Finding {
  /** The kind of the difference. */
  code: (typeof DRIFT_CODES)[number];
  /** The type of the record, the missing part, or the field: `assistant: message.content<text>.text`. */
  what: string;
  /** How often it occurs. */
  count: number;
  /** First occurrence: line 3 is the third line of the file. */
  line: number | null;
  /** The session file of the first occurrence, if a session has several. */
  file: string | null;
}

/** The differences between a recording and what the adapter knows. */
export interface Drift {
  /** Differences, by kind. Empty: the adapter knows everything in the recording. */
  findings: Finding[];
  /** Kinds of findings beyond the limit. */
  left_out: number;
}

/** With a redactor, texts are redacted before they are truncated. */
export async function driftIn(options: ConvertOptions): Promise<Drift> {
  const { agent, from, redactor } = options;
  const list = new Findings();
  const shapes = await agent.shapes?.();
  const most = APP_LIMITS.drift_text_chars_max;
  const short = (text: string) => redactor?.head(text, most) ?? text.slice(0, most);
  const cut = (text: string) => changedText(text, short);
  const watch = shapes === undefined ? null : new FieldWatch(shapes, from, cut);
  const byte_text = redactor?.bytes_too ?? true;
  const own = decoderFor(agent, from);
  const decoder = watch === null ? own : watched(own, (record, out) => watch.record(record, out));
  const read = { ...options, decoder, byte_text, whole_texts: true, every_line: true };
  const given = byte_text ? fromByteText<string> : (text: string) => text;
  for await (const events of eventsOf(read)) {
    for (const event of events) note(event, list, given);
  }
  for (const [what, count] of watch?.fresh ?? []) list.add('new_field', given(what), null, count);
  for (const { what, count } of watch?.gone() ?? []) list.add('gone_field', what, null, count);
  return list.sorted(watch?.left_out.size ?? 0);
}

function note(event: Event, list: Findings, given: (text: string) => string): void {
  if (event.kind === 'notice' && event.data.code === NEW_FIELD)
    list.add('new_field', given(event.data.text ?? ''), event.raw, 0);
  if (event.kind !== 'problem') return;
  const code = own(PROBLEMS, event.data.code);
  if (code !== undefined) list.add(code, given(event.data.detail), event.raw, 1);
}

class Findings {
  readonly #all = new Map<string, Finding>();
  readonly #left_out = new Set<string>();

  add(code: Finding['code'], what: string, raw: Event['raw'], count: number): void {
    const key = `${code} ${what}`;
    const known = this.#all.get(key);
    if (known !== undefined) known.count += count;
    else if (this.#all.size < APP_LIMITS.drift_findings_max) {
      const { line = null, file = null } = raw ?? {};
      this.#all.set(key, { code, what, count, line, file });
    } else if (this.#left_out.size < APP_LIMITS.drift_findings_max) this.#left_out.add(key);
  }

  sorted(more: number): Drift {
    const order = (finding: Finding) => DRIFT_CODES.indexOf(finding.code);
    const findings = [...this.#all.values()].sort(
      (a, b) => order(a) - order(b) || b.count - a.count,
    );
    return { findings, left_out: this.#left_out.size + more };
  }
}

/** The agent's newest session file. */
export async function lastSession(
  { title, session }: ConvertOptions['agent'],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  let newest: { path: string; modified_ms: number } | null = null;
  for await (const file of session?.list?.({ env }) ?? []) {
    if (newest === null || file.modified_ms > newest.modified_ms) newest = file;
  }
  if (newest !== null) return newest.path;
  throw new TachoError(
    'not_found',
    `there is no session of ${title}; tacho import --help lists the folders that are searched`,
    {
      stage: 'drift',
    },
  );
}
