/**
 * `node bench/search-store.ts FOLDER RUNS BYTES`: makes a state folder with many runs that together have a journal of
 * about this size. The texts are those of real files: source code, documentation and declarations of the installed
 * packages, as agents read and write them. Every run also has words of its own, as ids and hashes in real runs are.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Event, EventKind } from '../src/model/event.ts';
import { createOutcomeFold, measuredBy } from '../src/projections/outcome.ts';
import { openIndex } from '../src/store/index/index-db.ts';
import type { Cover } from '../src/store/index/position-index.ts';
import { headOf, LINE_EXTRA_BYTES, writeLine } from '../src/store/journal/line.ts';
import { thisOwner } from '../src/store/owner.ts';
import { openStateDir, type StateDir } from '../src/store/state-dir.ts';

const AGENTS = ['claude', 'codex', 'gemini', 'opencode', 'pi'] as const;
const MODELS = ['sonnet-5', 'gpt-6', 'gemini-4-pro', 'qwen-4', 'haiku-5'] as const;
const TOOLS = ['Read', 'Bash', 'Edit', 'Grep'] as const;
const FIRST_MS = Date.UTC(2026, 0, 1);
const APART_MS = 60_000;
const SEGMENT_BYTES = 64 * 1024 * 1024;
const CORPUS_BYTES = 96 * 1024 * 1024;
const ROOT = join(import.meta.dirname, '..');

/** The same numbers in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Source {
  path: string;
  text: string;
}

/** Real text files, in the order of their names. */
function corpus(): Source[] {
  const found: Source[] = [];
  let bytes = 0;
  for (const folder of ['docs', 'src', 'test', 'node_modules']) {
    const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).sort();
    for (const name of names) {
      if (bytes > CORPUS_BYTES) return found;
      if (!/\.(?:ts|md|mjs|cjs|js|json|py|yml)$/.test(name) || /\.min\./.test(name)) continue;
      const text = readFileSync(join(ROOT, folder, name), 'utf8');
      if (text.length > 512 * 1024) continue;
      found.push({ path: `/home/user/project/${folder}/${name}`, text });
      bytes += text.length;
    }
  }
  return found;
}

const runId = (at: number) => `r_01m7ek9wah${String(at).padStart(16, '0')}`;

/** A word that only this run has. */
export const ownWord = (at: number) =>
  `only${createHash('sha256').update(String(at)).digest('hex').slice(0, 10)}`;

interface Writing {
  push(event: Event): void;
  close(): Cover | null;
  readonly bytes: number;
}

/** Writes a segment without syncs. */
function createWriting({ journal }: StateDir, number: number): Writing {
  const segment = `01m7ek9wah${String(number).padStart(16, '0')}.jsonl`;
  const fd = openSync(join(journal, segment), 'w', 0o600);
  const first = Buffer.from(`${JSON.stringify({ v: 1, ...thisOwner(journal) })}\n`);
  let bytes = writeSync(fd, first);
  const positions: Cover['positions'][number][] = [];
  let chunk = Buffer.allocUnsafe(4 * 1024 * 1024);
  let fill = 0;
  const flush = () => {
    if (fill > 0) writeSync(fd, chunk, 0, fill);
    fill = 0;
  };
  return {
    push(event) {
      const body = JSON.stringify(event);
      const head = headOf(event.run_id, 'capture');
      const most = head.bytes + LINE_EXTRA_BYTES + 3 * body.length;
      if (fill + most > chunk.length) flush();
      if (most > chunk.length) chunk = Buffer.allocUnsafe(most);
      const { end } = writeLine(chunk, fill, { head, seq: event.seq, body });
      const last = positions.at(-1);
      if (last?.session === event.run_id) last.last_seq = event.seq;
      else
        positions.push({
          ...{ session: event.run_id, source: 'capture', segment, offset: bytes },
          ...{ first_seq: event.seq, last_seq: event.seq },
        });
      bytes += end - fill;
      fill = end;
    },
    close() {
      flush();
      closeSync(fd);
      return { segment, bytes, positions };
    },
    get bytes() {
      return bytes;
    },
  };
}

type Put = <K extends EventKind>(kind: K, data: Extract<Event, { kind: K }>['data']) => void;

const NO_TEXT = { message_id: null, parent_call_id: null };

interface Turn {
  put: Put;
  random: (below: number) => number;
  sources: readonly Source[];
  at: number;
}

function piece({ random, sources }: Turn, chars: number): Source {
  const { path, text } = sources[random(sources.length)] as Source;
  const from = random(Math.max(1, text.length - chars));
  return { path, text: text.slice(from, from + chars) };
}

/** One step: thinking, an answer, and a call with its output. */
function putStep(turn: Turn, step: number, chars: number): void {
  const { put, random, at } = turn;
  const call_id = `toolu_${at}_${step}_${random(1e9).toString(36)}`;
  const tool = TOOLS[random(TOOLS.length)] as string;
  const read = piece(turn, 200 + random(2 * chars));
  put('step_started', {
    step_id: null,
    step_index: step,
    allowed_tools: null,
    enforcement_mode: null,
  });
  put('thinking_finished', { ...NO_TEXT, text: piece(turn, 200).text });
  put('message_finished', {
    ...{ ...NO_TEXT, role: 'assistant', text: piece(turn, 300).text },
    ...{ synthetic: false, partial: false },
  });
  const input =
    tool === 'Bash' ? { command: `grep -n ${ownWord(at)} ${read.path}` } : { file_path: read.path };
  put('call_requested', {
    ...{ call_id, tool, native_call_id: call_id, native_tool: tool, row: `claude:${tool}` },
    ...{ input, reads: [], parent_call_id: null },
  });
  put('call_started', { call_id, tool });
  put('call_finished', {
    ...{ call_id, tool, ok: true, status: 'ok', exit_code: 0, duration_ms: 12 },
    output: read.text,
  });
}

function makeRun(
  at: number,
  turn: Omit<Turn, 'put' | 'at'>,
  bytes: number,
  take: (event: Event) => void,
): void {
  let seq = 0;
  let step = 0;
  let chars = 0;
  const put: Put = (kind, data) => {
    seq += 1;
    const at_ms = FIRST_MS + at * APART_MS + seq * 10;
    const raw = { channel: 'session', line: seq, offset: seq * 400 };
    const event = {
      v: 1,
      run_id: runId(at),
      seq,
      at_ms,
      at_source: 'native',
      step,
      kind,
      raw,
      data,
    };
    chars += 300 + JSON.stringify(data).length;
    take(event as Event);
  };
  const all: Turn = { ...turn, put, at };
  const agent = AGENTS[at % AGENTS.length] as string;
  const model = MODELS[at % MODELS.length] as string;
  const prompt = `Please look at ${ownWord(at)}. ${piece(all, 300).text}`;
  const project = { path: `/home/user/project-${at % 50}`, remote: null };
  put('run_started', {
    ...{ agent, agent_version: '1.0.0', model, session_id: `session-${at}`, cwd: project.path },
    ...{ fingerprint: null, prompt, config: null, project },
  } as never);
  while (chars < bytes) putStep(all, ++step, 4_000);
  put('usage_reported', {
    ...{ mode: 'total', cost_usd: (at % 400) / 100, model },
    usage: {
      input_tokens: 1000,
      output_tokens: 500,
      cache_read_tokens: null,
      cache_write_tokens: null,
      total_tokens: 1500,
    },
  } as never);
  const failed = at % 10 === 0;
  put('run_finished', {
    ...{ exit_reason: failed ? 'agent_error' : 'ok', ok: !failed, final_output: '', error: null },
    ...{
      session_id: `session-${at}`,
      model,
      usage: null,
      cost_usd: (at % 400) / 100,
      cost_source: 'agent',
    },
    ...{
      duration_ms: 1000,
      tool_calls: step,
      steps: step,
      provider_retries: 0,
      provider_errors: 0,
    },
    ...{
      terminal_evidence: 'native_result',
      completeness: { grade: 'complete', gaps: [], filled: [] },
    },
    ...{ agent_exit_code: 0, agent_signal: null, redactions: {}, digest: null },
  } as never);
}

function fill(folder: string, runs: number, bytes: number): void {
  const state = openStateDir(folder);
  using index = openIndex(state);
  const sources = corpus();
  const random = createRandom(7);
  let number = 1;
  let writing = createWriting(state, number);
  const next = () => {
    const cover = writing.close() as Cover;
    index.coverAll([cover]);
    index.settle(new Map([[cover.segment, cover.bytes]]));
  };
  for (let at = 0; at < runs; at++) {
    const fold = createOutcomeFold({ keepIo: false });
    // Most runs are short, a few are long.
    const size = (bytes / runs) * (0.25 + 0.75 * (random(8) === 0 ? 5 : 0.43));
    makeRun(at, { random, sources }, size, (event) => {
      fold.push(event);
      writing.push(event);
    });
    index.saveRuns([measuredBy(fold)]);
    if (writing.bytes < SEGMENT_BYTES) continue;
    next();
    writing = createWriting(state, ++number);
  }
  next();
}

if (import.meta.main) {
  const [folder, runs, bytes] = process.argv.slice(2);
  fill(folder as string, Number(runs), Number(bytes));
}
