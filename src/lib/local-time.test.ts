import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { localMinute, localTime, shortTime } from './local-time.ts';

const at = Date.parse('2026-11-15T02:05:59Z');

/** TZ applies to a whole process: a test worker cannot change its own. */
function timesIn(zones: readonly string[]): Record<string, string[]> {
  const file = JSON.stringify(join(import.meta.dirname, 'local-time.ts'));
  const code = `import { localTime, localZone } from ${file};
    const shown = {};
    for (const zone of ${JSON.stringify(zones)}) {
      process.env.TZ = zone;
      shown[zone] = ['2026-11-15T02:05:59Z', '2026-07-01T10:00:00Z'].map((at) => localTime(Date.parse(at)));
    }
    console.log(JSON.stringify(shown));`;
  const args = ['--input-type=module', '-e', code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('a time is local, and has the offset of that time', () => {
  expect(timesIn(['UTC', 'America/New_York', 'Asia/Kolkata', 'Europe/Berlin'])).toEqual({
    UTC: ['2026-11-15 02:05 UTC', '2026-07-01 10:00 UTC'],
    'America/New_York': ['2026-11-14 21:05 -05:00', '2026-07-01 06:00 -04:00'],
    'Asia/Kolkata': ['2026-11-15 07:35 +05:30', '2026-07-01 15:30 +05:30'],
    'Europe/Berlin': ['2026-11-15 03:05 +01:00', '2026-07-01 12:00 +02:00'],
  });
});

test('a short time in another year shows the day instead of the minute', () => {
  expect(shortTime(at, at)).toMatch(/^11-1[45] \d\d:\d\d$/);
  expect(shortTime(at, at + 300 * 86_400_000)).toMatch(/^2026-11-1[45]$/);
});

test('an unknown time, or one outside the range of dates, has no text', () => {
  for (const none of [null, Number.NaN, 9e15])
    expect([localMinute(none), localTime(none), shortTime(none, at)]).toEqual([null, null, null]);
});
