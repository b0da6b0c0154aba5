/** Cost of grading 10,000 transcripts by skill-trigger and tool-trajectory, compared with reading and parsing them. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, transcript } from '../test/build-transcript.ts';
import { bestCpu, type Row } from './measure.ts';

const TRANSCRIPTS = 10_000;
const TURNS = 3;
const MOST = 5;

const EVAL = `tests:
  - id: one
    assertions:
      - { type: skill-trigger, skill: greeting-style }
      - type: tool-trajectory
        mode: in_order
        expected: [{ tool: Read, args: { file_path: /src/f2.ts } }, { tool: Edit }]
`;

/** The same bytes, parsed line by line and discarded. */
const BARE = `
const { openSync, readSync } = require('node:fs');
const fd = openSync(process.argv[1]);
const chunk = Buffer.alloc(1 << 20);
let rest = '';
for (let n; (n = readSync(fd, chunk)) > 0; ) {
  const lines = (rest + chunk.toString('latin1', 0, n)).split('\\n');
  rest = lines.pop();
  for (const line of lines) JSON.parse(line);
}`;

/** 12 calls with some output each: about 10 kB. */
function lineOf(n: number): string {
  const output = 'x'.repeat(400);
  const skill = n % 2 === 0 ? 'greeting-style' : 'greeting-style-legacy';
  const looks = Array.from({ length: 10 }, (_, i) =>
    i % 2 === 0
      ? call('Read', { file_path: `/src/f${i}.ts` }, { output })
      : call('Bash', { command: `npm test -- f${i}` }, { output }),
  );
  const calls = [call('Skill', { skill }), ...looks, call('Edit', { file_path: '/src/f1.ts' })];
  const one = transcript([], { run_id: `r_${n}`, test_id: `t${n}`, tool_calls_count: 12 });
  const messages = calls.map((tool_call, index) => ({
    ...(one.messages[0] as (typeof one.messages)[number]),
    index,
    tool_calls: [{ ...tool_call, id: `c${index}` }],
  }));
  return `${JSON.stringify({ ...one, messages })}\n`;
}

export function run(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const path = join(folder, 'transcripts.jsonl');
    const fd = openSync(path, 'w');
    for (let n = 0; n < TRANSCRIPTS; n++) writeSync(fd, lineOf(n));
    closeSync(fd);
    writeFileSync(join(folder, 'eval.yaml'), EVAL);
    const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const args = ['eval', join(folder, 'eval.yaml'), '--transcript', path, '--no-github'];
    const [grading, bare] = bestCpu(
      TURNS,
      // Half of them fail, so the exit code is 1.
      ['bash', '-c', '"$@"; test $? -eq 1', 'bash', process.execPath, tacho, ...args],
      [process.execPath, '-e', BARE, path],
    );
    return [
      {
        name: '10,000 transcripts graded by `skill-trigger` and `tool-trajectory`, CPU, vs. parsing them',
        value: `${grading.toFixed(2)} s`,
        reference: `${bare.toFixed(2)} s`,
        ratio: grading / bare,
        target: `≤ ${MOST} ×`,
        ok: grading <= bare * MOST,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
