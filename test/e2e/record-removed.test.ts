/** The agent can reach the state folder: a record that it removes or changes does not count as recorded. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { finished, linesOf, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

const SESSION = '"session_id":"7e15eb39-6be6-4422-a6f5-9c0868fe7f65"';

/** A program in place of Claude Code that acts between its two records. */
function agentThat(does: string): Record<string, string> {
  const bin = join(place.folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const path = join(bin, 'claude');
  writeFileSync(
    path,
    `#!/bin/sh
[ "$1" = --version ] && { echo 9.9.9; exit 0; }
echo '{"type":"system","subtype":"init","cwd":"/w",${SESSION},"tools":[],"model":"m"}'
n=0; while ! ls "$STATE"/journal/0*.jsonl >/dev/null 2>&1 && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done
sleep 0.3
${does}
sleep 0.2
echo '{"type":"result","subtype":"success","is_error":false,"result":"done",${SESSION},"total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":1}}'
`,
  );
  chmodSync(path, 0o755);
  return { PATH: `${bin}:${process.env.PATH}`, STATE: place.state };
}

const run = (does: string, ...flags: string[]) =>
  place.tacho(['run', '--agent', 'claude', '--output', 'json', ...flags, 'p'], {
    env: agentThat(does),
  });

const listed = async () => linesOf((await place.tacho(['runs', 'list', '--json'])).stdout);

const REMOVALS: Record<string, string> = {
  'the segment is removed': 'rm -f "$STATE"/journal/0*',
  'the segment is renamed': 'for f in "$STATE"/journal/0*; do mv "$f" "$f.away"; done',
  'the segment is replaced by another file':
    'for f in "$STATE"/journal/0*; do cp "$f" "$f.x"; mv "$f.x" "$f"; done',
  'the segment is cut': 'for f in "$STATE"/journal/0*; do : > "$f"; done',
  'the segment is overwritten in place':
    'for f in "$STATE"/journal/0*.jsonl; do tr a b < "$f" > "$STATE/x"; cat "$STATE/x" > "$f"; done',
  'the segment is rewritten, longer':
    'for f in "$STATE"/journal/0*.jsonl; do sed "s/^/ /" "$f" > "$STATE/x"; cat "$STATE/x" > "$f"; done',
  'the journal is removed': 'rm -rf "$STATE/journal"',
  'the state folder is removed': 'rm -rf "$STATE"',
  'the journal is replaced by a link': 'mv "$STATE/journal" "$STATE/j2"; ln -s j2 "$STATE/journal"',
  'the state folder is replaced by a link':
    'mv "$STATE" "$STATE.real"; ln -s "$STATE.real" "$STATE"',
  'the spool folder is replaced by a link': 'rm -rf "$STATE/spool"; ln -s /tmp "$STATE/spool"',
  'the spool folder is replaced by a file': 'rm -rf "$STATE/spool"; : > "$STATE/spool"',
  'the transcripts are replaced by a file': 'rm -rf "$STATE/transcripts"; : > "$STATE/transcripts"',
};

for (const [what, does] of Object.entries(REMOVALS))
  verifies('ST-2', `a run does not succeed when ${what} during it`, async () => {
    const result = await run(does);
    expect(result.code, result.stderr).toBe(70);
    expect(finished(result)).toMatchObject({ ok: false, exit_reason: 'capture_error' });
    expect(result.stderr).not.toMatch(/is recorded|^ +at /m);
    expect(finished(result).error).toMatch(
      /was removed or replaced|was replaced during|was truncated|was changed|could not be recorded/,
    );
    expect((await listed()).filter(({ success }) => success)).toEqual([]);
  });

verifies(['ST-2', 'ST-7'], 'the end of an unrecorded run is also redacted', async () => {
  const key = 'Zq81mKpXv0tRs5Wd9Lb2';
  const text = `{"type":"assistant",${SESSION},"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"see ${key}"}]}}`;
  const env = { ...agentThat(`echo '${text}'; rm -rf "$STATE/journal"`), MY_API_KEY: key };
  const [events, last, junit] = ['e.jsonl', 'f.txt', 'j.xml'].map((name) =>
    join(place.folder, name),
  );
  const files = ['--events', events, '--final-output', last, '--junit', junit] as string[];
  const args = ['run', '--agent', 'claude', '--output', 'json', ...files, 'p'];
  const result = await place.tacho(args, { env });
  expect(finished(result)).toMatchObject({ exit_reason: 'capture_error' });
  const written = [
    result.stdout,
    ...[events, last, junit].map((path) => readFileSync(path as string, 'utf8')),
  ];
  expect(written.filter((text) => text.includes('see'))).not.toEqual([]);
  for (const text of written) expect(text).not.toContain(key);
});

verifies('ST-2', 'a segment with another time and the same bytes is not a loss', async () => {
  const result = await run('touch -d "7 days ago" "$STATE"/journal/0*.jsonl');
  expect(finished(result), result.stderr).toMatchObject({ ok: true, exit_reason: 'ok' });
  expect(result.code).toBe(0);
});

verifies(
  'ST-2',
  'a run with a spool that cannot be removed is recorded and listed, and reports it',
  async () => {
    const result = await run(
      'cd "$STATE/spool/$TACHO_RUN_ID"; rm stdout; mkdir stdout',
      '--keep-raw',
    );
    expect(finished(result), result.stderr).toMatchObject({ ok: true, exit_reason: 'ok' });
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.stringMatching(
        /^warning: the removal of its raw output failed: .* the run is recorded/,
      ),
    ]);
    expect((await listed()).map(({ run_id }) => run_id)).toEqual([result.records[0].run_id]);
  },
);

verifies('ST-2', 'without the index or the spool folder a run is still recorded', async () => {
  for (const does of ['rm -f "$STATE"/tacho.db*', 'rm -rf "$STATE"/spool/*']) {
    const result = await run(does);
    expect(result.stderr).not.toMatch(/^ +at /m);
    expect(finished(result), result.stderr).toMatchObject({ ok: true, exit_reason: 'ok' });
    const [row] = await listed();
    expect(row.run_id).toBe(result.records[0].run_id);
    expect((await place.tacho(['runs', 'verify', row.run_id])).code).toBe(0);
  }
});
