/** Builds a decoder from a table of record kinds. As `Decoder` requires, it never throws. */
import type { Decoder, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { Drafts, type Time } from './drafts.ts';
import { isNative, type Open, timeOf } from './native.ts';

/** `R`: kind → type of its records, as generated from the recordings. */
export interface Table<R> {
  /** Handlers by kind. A row for `type` also handles subtypes without their own row. Other kinds are unknown. */
  readonly records: {
    readonly [K in keyof R]?: (record: R[K], part: SessionPart | undefined) => void;
  };
  /** Kinds with nothing to record, or nothing that other records do not repeat. */
  readonly ignored?: readonly string[];
  /** Kinds with a message for people. */
  readonly notices?: readonly string[];
  noticeText?(record: Open): string | null;
  /** Default: `type/subtype`, or `type` alone. Null: the record has no kind. */
  kindOf?(record: Open): string | null;
  /** Default: `timestamp`. */
  timeOf?(record: Open): Time;
  /** The records inside a value that is not a record itself: a list or a wrapper. Null: the value is a record. */
  inside?(value: unknown): Iterable<unknown> | null;
  /** Records before this time belong to earlier runs, as do untimed records that follow them. They reach no row. */
  since_ms?: number | undefined;
  /** Whether a record belongs to an earlier run despite its time, such as a record copied by a fork. */
  isEarlier?(record: Open, part: SessionPart | undefined): boolean;
  /** Called before a record's row. `earlier`: the record belongs to an earlier run. */
  before?(record: Open, part: SessionPart | undefined, earlier: boolean): void;
  /** Called at the end of the input. */
  end?(): void;
  /** The records completed by a line that is not JSON. Null: the line means nothing to this agent. */
  text?(line: string): readonly unknown[] | null;
}

/** `type/subtype` of a record; null if it has no type. */
export function kindOf(record: Open): string | null {
  if (typeof record.type !== 'string') return null;
  return typeof record.subtype === 'string' ? `${record.type}/${record.subtype}` : record.type;
}

type Row = (record: Open, part: SessionPart | undefined) => void;

export function decoder<R>(describe: (to: Drafts) => Table<R>): Decoder {
  const to = new Drafts();
  const table = describe(to);
  const nameOf = table.kindOf ?? kindOf;
  const momentOf = table.timeOf ?? timeOf;
  const { inside, isEarlier, before, since_ms = 0 } = table;
  let now_ms = 0;
  const rows = new Map<string, Row>();
  const nothing = () => {};
  for (const kind of table.ignored ?? []) rows.set(kind, nothing);
  for (const kind of table.notices ?? []) {
    const code = kind.slice(kind.indexOf('/') + 1);
    rows.set(kind, (record) => to.notice(code, table.noticeText?.(record) ?? null));
  }
  for (const [kind, row] of Object.entries(table.records)) rows.set(kind, row as Row);

  function record(value: unknown, out: Draft[], part?: SessionPart): void {
    if (inside !== undefined) {
      to.begin(out, undefined);
      const inner = inside(value);
      if (inner !== null) {
        for (const item of inner) record(item, out, part);
        return;
      }
    }
    if (!isNative(value)) {
      to.begin(out, undefined);
      to.bad('record is not an object');
      return;
    }
    to.begin(out, momentOf(value));
    if (to.at_ms !== undefined) now_ms = to.at_ms;
    const earlier = isEarlier?.(value, part) === true || now_ms < since_ms;
    before?.(value, part, earlier);
    if (earlier) return;
    const kind = nameOf(value);
    const row =
      kind === null ? undefined : (rows.get(kind) ?? rows.get(kind.split('/', 1)[0] ?? ''));
    if (row !== undefined) row(value, part);
    else if (kind === null) to.bad('no type');
    else to.problem('unknown_record', kind);
  }

  return {
    record,
    end(out) {
      const { introduced, first } = to;
      to.begin(out, undefined);
      table.end?.();
      Object.assign(to, { introduced, first });
    },
    ...(table.text && {
      text(line: string, out: Draft[]) {
        to.begin(out, undefined);
        return table.text?.(line) ?? null;
      },
    }),
  };
}
