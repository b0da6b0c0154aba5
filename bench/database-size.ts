/** Size of the runs database compared with the raw stream of a session of about 200,000 tokens (ST-1). */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Row } from './measure.ts';

// The target in tacho.yaml is written by this benchmark, so it can be trusted.
process.env.TACHO_TRUST = '1';

const SMALLER_LEAST = 0.9;
const TURNS = 200;
/** About 1,000 tokens. */
const OUTPUT = 'The quick brown fox jumps over the lazy dog, and 42 tests pass. '.repeat(62);

const TALKER = `
const say = (record) => process.stdout.write(JSON.stringify(record) + '\\n');
const output = ${JSON.stringify(OUTPUT)};
say({ t: 'hello', session: 'demo-size', version: '1.0.0', model: 'demo-1' });
for (let i = 0; i < ${TURNS}; i++) {
  say({ t: 'turn', id: 'turn-' + i });
  say({ t: 'call', id: 'c' + i, tool: 'run', input: { cmd: 'npm test -- ' + i } });
  say({ t: 'call_end', call: 'c' + i, status: 'ok', exit_code: 0, output });
}
say({ t: 'text', id: 'm', text: 'All done.' });
say({ t: 'end', reason: 'ok' });
`;

export function run(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const talker = join(folder, 'talker.mjs');
    writeFileSync(talker, TALKER);
    const raw = execFileSync(process.execPath, [talker], { maxBuffer: 1 << 26 }).length;
    writeFileSync(
      join(folder, 'tacho.yaml'),
      `targets: { talker: { agent: demo, command: ["${process.execPath}", "${talker}"] } }\n`,
    );
    const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const state = join(folder, 'state');
    const args = [tacho, 'run', '--state-dir', state, '--target', 'talker', 'go'];
    execFileSync(process.execPath, args, { cwd: folder, stdio: 'ignore' });
    const db = statSync(join(state, 'tacho.db')).size;
    return [
      {
        name: 'runs database of a session of about 200,000 tokens, vs. its raw stream',
        value: `${Math.round(db / 1e3)} kB`,
        reference: `${Math.round(raw / 1e3)} kB`,
        ratio: db / raw,
        target: `≥ ${SMALLER_LEAST * 100} % smaller`,
        ok: db <= raw * (1 - SMALLER_LEAST),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
