import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTime } from './read-time.ts';

const NOW = '2026-11-02T03:00:00Z';

/** In New York; in a separate process, because a test worker cannot change TZ. */
function spansOf(texts: readonly string[]): Record<string, string[] | null> {
  const file = JSON.stringify(join(import.meta.dirname, 'read-time.ts'));
  const code = `import { readTime } from ${file};
    const shown = {};
    for (const text of ${JSON.stringify(texts)}) {
      const span = readTime(text, Date.parse(${JSON.stringify(NOW)}));
      shown[text] = span && [span.from_ms, span.to_ms].map((at_ms) => new Date(at_ms).toISOString());
    }
    console.log(JSON.stringify(shown));`;
  const env = { ...process.env, TZ: 'America/New_York' };
  const args = ['--input-type=module', '-e', code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', env }));
}

test('a day is local, from its beginning to its end; a moment is a time ago or an ISO time', () => {
  const days = {
    '2026-11-15': ['2026-11-15T05:00:00.000Z', '2026-11-16T05:00:00.000Z'],
    // The clocks change: this day has 25 hours.
    today: ['2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
    Yesterday: ['2026-10-31T04:00:00.000Z', '2026-11-01T04:00:00.000Z'],
  };
  const moments = {
    '12h': '2026-11-01T15:00:00.000Z',
    '2d': '2026-10-31T03:00:00.000Z',
    '1 w': '2026-10-26T03:00:00.000Z',
    '2026-11-01T12:00': '2026-11-01T17:00:00.000Z',
    '2026-11-01 12:00:30': '2026-11-01T17:00:30.000Z',
    '2026-11-01T12:00:00Z': '2026-11-01T12:00:00.000Z',
  };
  const spans = Object.fromEntries(Object.entries(moments).map(([text, at]) => [text, [at, at]]));
  expect(spansOf([...Object.keys(days), ...Object.keys(moments)])).toEqual({ ...days, ...spans });
});

test('anything else is not a time', () => {
  for (const text of ['', 'x', '2', '2y', '-1d', '11/1/2026', '2026-02-31', '2026-13-01', '2026'])
    expect([text, readTime(text, Date.parse(NOW))]).toEqual([text, null]);
});
