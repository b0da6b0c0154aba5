/**
 * A run's log (TR-2), made when the run is closed: `summary`, the readable lines of its record, or `raw`, the agent's
 * stdout byte for byte. Only lines that hold a secret are changed, and only in the secret (ST-7).
 */
import { closeSync, readSync } from 'node:fs';
import { LIMITS } from '../../lib/limits.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import { type Colours, createHumanProjection } from '../../projections/human.ts';
import type { Redactor } from '../../redact/redact.ts';
import { openRead, type PrivateFile, startPrivate } from '../../store/files.ts';
import { logFile } from '../../store/spool/run-files.ts';
import { SPOOL_MARK, type Spool } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { StreamLog } from '../config/log.ts';
import { journalledEvents } from '../runs/replay.ts';
import { SplitSecrets } from './split-secrets.ts';

export interface LogRequest {
  run_id: string;
  agent: string;
  stream_log: StreamLog;
  cwd: string;
  redactor: Redactor;
}

export async function saveLog(state: StateDir, spool: Spool, request: LogRequest): Promise<void> {
  const { stream_log, agent, run_id } = request;
  if (stream_log === false) return;
  const file = startPrivate(logFile(state, agent, run_id), 'log');
  try {
    if (stream_log === 'raw') writeRaw(spool.stdout, file, request.redactor);
    else await writeSummary(state, file, request);
    file.commit();
  } finally {
    file.abandon();
  }
}

const plain = (text: string) => text;
const NO_COLOURS: Colours = {
  bold: plain,
  dim: plain,
  red: plain,
  green: plain,
  yellow: plain,
  cyan: plain,
};
const SUMMARY_COLUMNS = 120;

async function writeSummary(
  state: StateDir,
  file: PrivateFile,
  { run_id, cwd }: LogRequest,
): Promise<void> {
  const style = { colour: NO_COLOURS, unicode: true, width: SUMMARY_COLUMNS };
  const human = createHumanProjection({ ...style, stream: false, cwd });
  for await (const event of journalledEvents(state, run_id)) {
    const text = human.project(event);
    if (text !== '') file.write(Buffer.from(text));
  }
}

/** Twice through the file: a secret that is split over records shows only when its last piece has come. */
function writeRaw(path: string, file: PrivateFile, redactor: Redactor): void {
  const split = new SplitSecrets(redactor);
  let line = 0;
  for (const bytes of linesOf(path)) split.look(recordOf(bytes), line++);
  line = 0;
  let parts = false;
  for (const bytes of linesOf(path)) {
    const ended = bytes.at(-1) === LF;
    if (parts || (!ended && bytes.length > LIMITS.line_bytes_max - 4))
      file.write(safePart(bytes, redactor, ended));
    else file.write(safeLine(bytes, redactor, split.in(line)));
    parts = !ended;
    line += 1;
  }
  if (parts) file.write(Buffer.from(redactor.flush(PARTS)));
}

const LF = 10;
const PARTS = 'raw log';

/** A part of a line that is too long to be looked at as a whole. */
function safePart(bytes: Buffer, redactor: Redactor, ended: boolean): Buffer {
  const text = redactor.delta(PARTS, bytes.toString('utf8'));
  return Buffer.from(ended ? text + redactor.flush(PARTS) : text);
}

/** The file's lines with their line ends; one that is over the limit comes in parts. */
function* linesOf(path: string): Generator<Buffer, void> {
  const fd = openRead(path);
  try {
    const chunk = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
    const first = readSync(fd, chunk, 0, SPOOL_MARK.length, 0);
    let at = chunk.subarray(0, first).equals(SPOOL_MARK) ? first : 0;
    let held: Buffer = Buffer.alloc(0);
    for (;;) {
      const count = readSync(fd, chunk, 0, chunk.length, at);
      if (count === 0) break;
      at += count;
      let bytes = held.length === 0 ? chunk.subarray(0, count) : joined(held, chunk, count);
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
        yield bytes.subarray(0, end + 1);
        bytes = bytes.subarray(end + 1);
      }
      held = Buffer.from(bytes);
      if (held.length > LIMITS.line_bytes_max) {
        const end = wholeChars(held);
        yield held.subarray(0, end);
        held = held.subarray(end);
      }
    }
    if (held.length > 0) yield held;
  } finally {
    closeSync(fd);
  }
}

/** Where the last character that may be cut begins. */
function wholeChars(bytes: Buffer): number {
  let end = bytes.length - 1;
  while (end > bytes.length - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}

const joined = (held: Buffer, chunk: Buffer, count: number) =>
  Buffer.concat([held, chunk.subarray(0, count)]);

function recordOf(bytes: Buffer): object | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** The same bytes where there is no secret. A record is looked at as JSON too: escapes must not hide anything. */
function safeLine(bytes: Buffer, redactor: Redactor, split: ReadonlySet<string> | null): Buffer {
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const text = bytes.toString(encoding);
  const record = recordOf(bytes);
  const whole = record === null || split === null ? record : SplitSecrets.without(record, split);
  const safe = whole === null ? null : redactor.value(whole);
  const end = text.endsWith('\n') ? '\n' : '';
  const kept =
    record === null
      ? redactor.line(PARTS, text)
      : redactor.text(safe === record ? text : JSON.stringify(safe) + end);
  return kept === text ? bytes : Buffer.from(kept, encoding);
}
