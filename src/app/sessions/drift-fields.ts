/**
 * New and missing fields of records, compared with the declaration in an agent's folder (AG-19). Memory: the
 * declaration and the findings.
 */

import { isLonger, jsonInside } from '../../lib/byte-text.ts';
import { type Field, type Fields, join, parseShape, type Shape } from '../../lib/shape.ts';
import type { Decoder, RecordShapes, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { APP_LIMITS } from '../limits.ts';

type Native = Readonly<Record<string, unknown>>;

/** The code of the notice that reports the line of a new field. */
export const NEW_FIELD = 'new_field';

/** The decoder, with every complete record passed to `see` first. */
export function watched(decoder: Decoder, see: (record: Native, out: Draft[]) => void): Decoder {
  const each = (value: unknown, out: Draft[]) => {
    if (Array.isArray(value)) for (const item of value) each(item, out);
    else if (typeof value === 'object' && value !== null) see(value as Native, out);
  };
  const text = decoder.text?.bind(decoder);
  return {
    record(value: unknown, out: Draft[], part?: SessionPart) {
      each(value, out);
      decoder.record(value, out, part);
    },
    ...(text && { text }),
    end: (out) => decoder.end(out),
  };
}

export class FieldWatch {
  /** New fields by position, with the number of occurrences. */
  readonly fresh = new Map<string, number>();
  /** New fields beyond the limit. */
  readonly left_out = new Set<string>();
  readonly #shapes: RecordShapes;
  readonly #kinds = new Map<string, Shape>();
  /** Objects seen of each kind and position, and which of their fields were never missing from all. */
  readonly #seen = new Map<Fields, { count: number; names: Set<string> }>();

  readonly #cut: (text: string) => string;

  /** `cut` shortens a position to a readable length. */
  constructor(shapes: RecordShapes, channel: 'stdout' | 'session', cut: (text: string) => string) {
    this.#shapes = shapes;
    this.#cut = cut;
    const { unrecorded } = shapes;
    for (const [kind, text] of Object.entries(shapes[channel])) {
      const shape = parseShape(text, `${kind}: `);
      admit(shape, parseShape(unrecorded?.[channel]?.[kind] ?? '', ''));
      this.#kinds.set(kind, shape);
    }
  }

  record(record: Native, out: Draft[]): void {
    const shape = this.#kinds.get(this.#shapes.kindOf(record));
    const fields = shape?.get('');
    if (fields !== undefined) this.#object(record, fields, out);
  }

  /** Fields that every recorded object had and that are now missing from all, with the number of those objects. */
  *gone(): Generator<{ what: string; count: number }> {
    for (const [{ path, fields }, { count, names }] of this.#seen) {
      for (const [name, { always }] of fields) {
        if (always && !names.has(name)) yield { what: join(path, name), count };
      }
    }
  }

  #object(value: Native, declared: Fields, out: Draft[]): void {
    const seen = this.#seen.get(declared) ?? { count: 0, names: new Set() };
    if (seen.count === 0) this.#seen.set(declared, seen);
    seen.count += 1;
    for (const name of Object.keys(value)) {
      const field = declared.fields.get(name);
      if (field === undefined) this.#new(join(declared.path, name), out);
      else {
        if (field.always) seen.names.add(name);
        this.#inside(value[name], field, out);
      }
    }
  }

  #inside(value: unknown, field: Field, out: Draft[]): void {
    const { inner: shape, json } = field;
    if (Array.isArray(value)) {
      for (const item of value) this.#inside(item, field, out);
      return;
    }
    const object = shape === null ? null : objectOf(value, json);
    if (shape === null || object === null) return;
    // If no recording has kinds of objects here, all are alike.
    const plain = shape.size === 1 ? shape.get('') : undefined;
    const fields = plain ?? shape.get(this.#shapes.kindOf(object));
    if (fields !== undefined) this.#object(object, fields, out);
  }

  #new(place: string, out: Draft[]): void {
    const what = isLonger(place, APP_LIMITS.drift_text_chars_max) ? this.#cut(place) : place;
    const count = this.fresh.get(what);
    if (count === undefined && this.fresh.size >= APP_LIMITS.drift_findings_max) {
      if (this.left_out.size < APP_LIMITS.drift_findings_max) this.left_out.add(what);
      return;
    }
    if (count === undefined) out.push({ kind: 'notice', data: { code: NEW_FIELD, text: what } });
    this.fresh.set(what, (count ?? 0) + 1);
  }
}

/**
 * Fields listed as unrecorded are not new, and their contents are not compared. Those without a kind apply to every
 * kind.
 */
function admit(shape: Shape, unrecorded: Shape): void {
  for (const [kind, { fields }] of unrecorded) {
    const only = shape.get(kind);
    for (const { fields: known } of only ? [only] : kind === '' ? shape.values() : []) {
      for (const [name, field] of fields) {
        const { inner } = known.get(name) ?? {};
        if (inner === undefined) known.set(name, { ...field, always: false, inner: null });
        else if (inner !== null && field.inner !== null) admit(inner, field.inner);
      }
    }
  }
}

/** An object or, with `json`, the one in a text. */
export function objectOf(value: unknown, json: boolean): Native | null {
  if (typeof value === 'object') return value as Native | null;
  if (!json || typeof value !== 'string' || !value.startsWith('{')) return null;
  return (jsonInside(value) as Native | undefined) ?? null;
}
