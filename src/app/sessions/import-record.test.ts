/** An import stores the same whether it reads a session as byte text or as text. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { NeedsText } from '../../lib/byte-text.ts';
import { createGate, createRedactor } from '../../redact/gate.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { readAll } from '../../store/journal/read.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { agentOf } from '../config/agent-of.ts';
import { Recorder } from '../run/recorder.ts';
import { verifyRun } from '../runs/verify.ts';
import { importSessions } from './import.ts';
import { recordSession } from './import-record.ts';

const AGENTS = ['claude', 'codex', 'copilot', 'gemini', 'pi', 'qwen'];
const FIELDS = new Set(['text', 'content', 'output', 'stdout', 'thinking', 'message', 'file_path']);
/** Texts that differ from their bytes where they are inspected. */
const WORDS = [
  'voilà',
  '\u00a0',
  '\u3000全角 — naïve 日本語 🚀\u3000',
  'Authorization:\u00a0Bearer abcdefghijklmnop1234567890XYZ',
  'https://bob:pässwörd@example.org/ and ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2é',
  'half \ud800 of a pair',
  'é'.repeat(200_000),
];

function changed(value: unknown, word: string): unknown {
  if (Array.isArray(value)) return value.map((item) => changed(item, word));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    FIELDS.has(key) && typeof item === 'string' ? `${item}${word}` : changed(item, word),
  ]);
  return Object.fromEntries(entries);
}

const escaped = (json: string) =>
  json.replaceAll(
    /[^\u0000-\u007f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function recordings(agent: string): string[] {
  const folder = join(import.meta.dirname, '../../agents', agent, 'testdata');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return names
    .filter((name) => /\/session\/.*\.jsonl$/.test(name) && !/subagent|agent-/.test(name))
    .slice(0, 3)
    .map((name) => join(folder, name));
}

async function stored(agent_id: string, path: string, as_bytes: boolean) {
  const folder = testFolder();
  const journal = openJournal(folder);
  const agent = await agentOf(agent_id);
  let attempts = 0;
  const {
    run: { outcome },
  } = await recordSession(
    { agent, path, parts: [{ path, parent_call_id: null }], left_out: [] },
    {
      id: { run_id: 'r_00000000000000000000000001', labels: {} },
      since_ms: null,
      until_ms: null,
      journal,
      redactor(byte_text) {
        attempts += 1;
        const hash = (text: string) => Buffer.from(text).toString('hex').slice(0, 8);
        const made = createRedactor({ env: {}, secret_env: [], hash, byte_text });
        return { ...made, bytes_too: as_bytes };
      },
      gate: createGate,
      bytes: true,
      report: () => undefined,
    },
  );
  await journal.close();
  const bodies: string[] = [];
  for await (const { seq, body } of readAll(folder)) bodies[seq - 1] = body;
  return { outcome, bodies, attempts };
}

async function compare(agent: string, text: string | Buffer, name: string): Promise<number> {
  const path = join(testFolder(), name);
  writeFileSync(path, text);
  const { attempts, ...bytes } = await stored(agent, path, true);
  const { attempts: _, ...texts } = await stored(agent, path, false);
  expect(bytes).toEqual(texts);
  expect(bytes.bodies.length).toBeGreaterThan(2);
  return attempts;
}

for (const agent of AGENTS)
  verifies(
    ['AG-15', 'ST-7'],
    `${agent}: texts outside ASCII are stored unchanged, however they are read`,
    async () => {
      for (const recording of recordings(agent)) {
        const lines = readFileSync(recording, 'utf8').trimEnd().split('\n');
        for (const word of WORDS) {
          const made = lines.map((line) => JSON.stringify(changed(JSON.parse(line), word)));
          const text = `${made.join('\n')}\n`;
          await compare(agent, text, basename(recording));
          if (word.length < 100) await compare(agent, escaped(text), basename(recording));
        }
      }
    },
    120_000,
  );

test('lines that are not records are stored alike, and so are names of files', async () => {
  const [recording = ''] = recordings('claude');
  const text = readFileSync(recording, 'utf8').replace('"text":"', '"text":"naïve ');
  const line = Buffer.from(
    '{"type":"user","message":{"role":"user","content":"b\xffd"}}\n',
    'latin1',
  );
  const rest = [
    Buffer.from('plain text — naïve\n'),
    Buffer.from(`{"broken é":{"type":"user"}\n`),
    line,
    Buffer.from('{"type":"assistant","torn é'),
  ];
  for (const more of rest)
    expect(await compare('claude', Buffer.concat([Buffer.from(text), more]), 'naïve.jsonl')).toBe(
      2,
    );
});

test('an ordinary session outside ASCII is read once', async () => {
  const [recording = ''] = recordings('claude');
  const text = readFileSync(recording, 'utf8').replace('"text":"', '"text":"naïve 日本語 ');
  expect(await compare('claude', text, 'x.jsonl')).toBe(1);
});

/**
 * A codex session that runs this command, then has more text than is journalled together, then ends with these lines.
 */
function commandSession(cmd: string, ...last: string[]): string {
  const at = (n: number) => new Date(Date.UTC(2026, 2, 3, 10) + n).toISOString();
  const item = (n: number, payload: object) => ({
    timestamp: at(n),
    type: 'response_item',
    payload,
  });
  const call = { type: 'function_call', name: 'exec_command', call_id: 'c1' };
  const says = (text: string) => ({ type: 'message', role: 'assistant', content: [{ text }] });
  const records = [
    { timestamp: at(0), type: 'session_meta', payload: { id: 's1', cwd: '/p' } },
    item(1, { ...call, arguments: JSON.stringify({ cmd }) }),
    item(2, { type: 'function_call_output', call_id: 'c1', output: 'x' }),
    ...Array.from({ length: 300 }, (_, n) => item(3 + n, says('naïve '.repeat(1000)))),
  ];
  return [...records.map((record) => JSON.stringify(record)), ...last, ''].join('\n');
}

verifies(
  ['AG-15', 'ST-10'],
  'a command that ends in a part of a white-space character is imported in full',
  async () => {
    for (const last of [[], ['{"broken é"']]) {
      const folder = testFolder();
      const path = join(folder, 'rollout-2026-03-03T10-00-00-s1.jsonl');
      writeFileSync(path, commandSession('cat notes/你', ...last));
      const state_dir = join(folder, 'state');
      const target = { agent: await agentOf('codex'), path, by_name: true };
      const given = { state_dir, env: {}, redact: [] };
      const [row] = await Array.fromAsync(importSessions([target], given));
      expect(row?.state).toBe('imported');
      const report = await verifyRun(openStateDir(state_dir), row?.run_id ?? '');
      expect(report.faults).toEqual([]);
      expect(await compare('codex', readFileSync(path), 'x.jsonl')).toBe(1 + last.length);
    }
  },
);

test('byte text that is not UTF-8 is not journalled', async () => {
  const folder = testFolder();
  const journal = openJournal(folder);
  const redactor = createRedactor({ env: {}, secret_env: [], hash: () => '', byte_text: true });
  const run_id = 'r_00000000000000000000000001';
  const recorder = new Recorder({
    run_id,
    journal,
    gate: createGate(redactor),
    views: [],
    byte_text: true,
  });
  const make = createMaker();
  await recorder.take([make('message_finished', { text: '\xc3\xa9' })]);
  const half = make('message_finished', { text: '\xc3' });
  await expect(recorder.take([half])).rejects.toThrow(NeedsText);
  await journal.close();
  expect(await Array.fromAsync(readAll(folder))).toEqual([]);
});
