/** What the demo prints, and the session files it keeps. All writing is synchronous: a crash right after is exact. */
import { appendFileSync, mkdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordType } from '../native.ts';

export interface Out {
  t: RecordType;
  [field: string]: unknown;
}
/** The time of the next record in epoch ms; null: records carry none. */
export type Ticker = () => number | null;

export interface Output {
  /** Prints a record and keeps it in the session; `parent`: the call whose sub-agent speaks. Returns its time. */
  emit(record: Out, parent?: string | null): number | null;
  /** A record as one line, without printing it. */
  line(record: Out): string;
  now: Ticker;
}

const SHOWN_ONLY_LIVE: readonly RecordType[] = ['text_delta', 'think_delta', 'call_output'];
const AGAIN_MS = 1;
const nobody = new Int32Array(new SharedArrayBuffer(4));

/** Writes all of it, waiting where the other side is slow. */
export function writeAll(fd: number, data: string | Uint8Array): void {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
  let done = 0;
  while (done < bytes.length) {
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(nobody, 0, 0, AGAIN_MS);
    }
  }
}

interface OutputSetup {
  fd: number;
  now: Ticker;
  /** Record types and fields that only the session file gets. */
  hide: readonly string[];
  session: SessionWriter | null;
}

export function createOutput({ fd, now, hide, session }: OutputSetup): Output {
  const stamped = (record: Out, parent: string | null, at: number | null): Out => {
    const { t, ...rest } = record;
    return {
      t,
      ...(at === null ? {} : { at: new Date(at).toISOString() }),
      ...(parent === null ? {} : { parent }),
      ...rest,
    };
  };
  return {
    emit(record, parent = null) {
      const at = now();
      if (!hide.includes(record.t)) {
        const shown = Object.entries(record).filter(
          ([name]) => !hide.includes(name) || name === 't',
        );
        const line = JSON.stringify(stamped(Object.fromEntries(shown) as Out, parent, at));
        writeAll(fd, `${line}\n`);
      }
      if (!SHOWN_ONLY_LIVE.includes(record.t)) session?.add(stamped(record, null, at), parent);
      return at;
    },
    line: (record) => JSON.stringify(stamped(record, null, now())),
    now,
  };
}

export interface SessionWriter {
  /** How large the session's file was when this run began: makes ids of a resumed session differ from earlier ones. */
  readonly size: number;
  add(record: Out, parent: string | null): void;
}

export function openSession(folder: string, session_id: string): SessionWriter {
  const main = join(folder, `${session_id}.jsonl`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    size: statSync(main, { throwIfNoEntry: false })?.size ?? 0,
    add(record, parent) {
      const below = join(folder, session_id);
      if (parent !== null) mkdirSync(below, { recursive: true, mode: 0o700 });
      const path = parent === null ? main : join(below, `${parent}.jsonl`);
      appendFileSync(path, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    },
  };
}
