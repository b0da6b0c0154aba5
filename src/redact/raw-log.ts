/**
 * An agent's raw output without secrets, line by line. Lines without secrets stay unchanged. All lines are read twice,
 * because a secret that is split over records is known only after its last piece.
 */
import { LIMITS } from '../lib/limits.ts';
import { isUtf8 } from '../lib/utf8.ts';
import type { Redactor } from './redact.ts';
import { SplitSecrets, withoutFields } from './split-secrets.ts';

const LF = 10;
const PARTS = 'raw log';

/** Lines include their line ends. A line over the limit arrives in parts. */
export function createRawLog(redactor: Redactor) {
  const split = new SplitSecrets(redactor);
  let looked = 0;
  let given = 0;
  let in_parts = false;

  /** A part of a line that is too long to be inspected in one piece. */
  function safePart(bytes: Buffer, ended: boolean): Buffer {
    const text = redactor.delta(PARTS, bytes.toString('utf8'));
    return Buffer.from(ended ? text + redactor.flush(PARTS) : text);
  }

  /** A record is also inspected as JSON, so that escapes cannot hide a secret. */
  function safeLine(bytes: Buffer, fields: ReadonlySet<string> | null): Buffer {
    const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
    const text = bytes.toString(encoding);
    const record = recordOf(bytes);
    const whole = record === null || fields === null ? record : withoutFields(record, fields);
    const safe = whole === null ? null : redactor.value(whole);
    const end = text.endsWith('\n') ? '\n' : '';
    const kept =
      record === null
        ? redactor.line(PARTS, text)
        : redactor.text(safe === record ? text : JSON.stringify(safe) + end);
    return kept === text ? bytes : Buffer.from(kept, encoding);
  }

  return {
    /** The first pass. */
    look: (line: Buffer) => split.look(recordOf(line), looked++),
    /** The second pass: returns the line to store. */
    kept(line: Buffer): Buffer {
      const ended = line.at(-1) === LF;
      const part = in_parts || (!ended && line.length > LIMITS.line_bytes_max - 4);
      const fields = split.in(given++);
      in_parts = !ended;
      return part ? safePart(line, ended) : safeLine(line, fields);
    },
    /** The held-back part of an unfinished last line. */
    rest: () => Buffer.from(in_parts ? redactor.flush(PARTS) : ''),
  };
}

function recordOf(bytes: Buffer): object | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
