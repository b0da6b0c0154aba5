/**
 * A run's log (TR-2), written when the run is closed: `summary`, the readable lines of its record, or `raw`, the
 * agent's stdout byte for byte. Only lines that contain a secret are changed, and only in the secret (ST-7).
 */
import { closeSync, readSync } from 'node:fs';
import { createColours } from '../../lib/colours.ts';
import { LIMITS } from '../../lib/limits.ts';
import { HumanProjection } from '../../projections/human.ts';
import { createRawLog, type Redactor } from '../../redact/gate.ts';
import { openRead, type PrivateFile, startPrivate } from '../../store/files.ts';
import { logFile } from '../../store/spool/run-files.ts';
import { SPOOL_MARK, type Spool } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { StreamLog } from '../config/log.ts';
import { journalledEvents } from '../runs/replay.ts';

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
  using file = startPrivate(logFile(state, agent, run_id), 'log');
  if (stream_log === 'raw') writeRaw(spool.stdout, file, request.redactor);
  else await writeSummary(state, file, request);
  file.commit();
}

const SUMMARY_COLUMNS = 120;

async function writeSummary(state: StateDir, file: PrivateFile, { run_id, cwd }: LogRequest) {
  const style = { colour: createColours(false), unicode: true, width: SUMMARY_COLUMNS };
  const human = new HumanProjection({ ...style, stream: false, cwd });
  for await (const event of journalledEvents(state, run_id)) {
    const text = human.project(event);
    if (text !== '') file.write(Buffer.from(text));
  }
}

function writeRaw(path: string, file: PrivateFile, redactor: Redactor): void {
  const log = createRawLog(redactor);
  for (const line of linesOf(path)) log.look(line);
  for (const line of linesOf(path)) file.write(log.kept(line));
  file.write(log.rest());
}

/** The file's lines with their line ends. A line over the limit is returned in parts. */
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

/** The start of the last character if it may be incomplete. */
function wholeChars(bytes: Buffer): number {
  let end = bytes.length - 1;
  while (end > bytes.length - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}

const joined = (held: Buffer, chunk: Buffer, count: number) =>
  Buffer.concat([held, chunk.subarray(0, count)]);
