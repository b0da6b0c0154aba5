import {
  appendFileSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { LIMITS } from '../../lib/limits.ts';
import { openStateDir } from '../state-dir.ts';
import { type JournalEntry, openJournal } from './journal.ts';
import { readAll, readSession } from './read.ts';
import { listSegments } from './scan.ts';

const NOTHING = {
  entries: 0,
  torn: 0,
  corrupt: 0,
  salvaged: 0,
  duplicates: 0,
  conflicts: 0,
  unreadable: 0,
};

function journalDir(): string {
  return openStateDir(join(testFolder(), 'state')).journal;
}

function entry(seq: number, body: string, session = 's', source = 'main'): JournalEntry {
  return { session, source, seq, body };
}

const numbered = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) =>
    entry(from + i, JSON.stringify({ n: from + i, t: 'é\u2028' })),
  );

async function stored(dir: string, session = 's') {
  const read = readSession(dir, session, { to_end: true });
  const entries: [string, number, string][] = [];
  for await (const { source, seq, body } of read) entries.push([source, seq, body]);
  return { entries, report: read.report };
}

const bodies = (entries: readonly JournalEntry[]) =>
  entries.map(({ source, seq, body }): [string, number, string] => [source, seq, String(body)]);

describe('appending', () => {
  verifies(
    'ST-2',
    'the last number is reported after the queued entries, however much others append later',
    async () => {
      const journal = openJournal(journalDir());
      let going = true;
      const busy = (async () => {
        let seq = 0;
        let last: Promise<unknown> = Promise.resolve();
        // The next append is always queued before the current one is done: the journal is never idle.
        while (going) {
          const before = last;
          last = journal.append([entry(++seq, '1', 'busy')]);
          await before;
        }
        await last;
      })();
      void journal.append([entry(1, '1'), entry(2, '2')]);
      expect(await journal.lastSeq('s', 'main')).toBe(2);
      going = false;
      await busy;
      await journal.close();
    },
  );

  verifies('ST-2', 'entries are read back byte for byte and in order', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    const texts = [
      '{"a":1}',
      '{ "a" :  1.0, "a": 2 }',
      '"\\ud800 é 😀 \u2028"',
      '12345678901234567890',
    ];
    const entries = texts.map((text, i) => entry(i + 1, text));
    expect(await journal.append(entries)).toEqual(texts.map(() => 'stored'));
    await journal.close();
    expect(await stored(dir)).toEqual({
      entries: bodies(entries),
      report: { ...NOTHING, entries: texts.length },
    });
  });

  verifies('ST-8', 'ids of any characters stay distinct and never become paths', async () => {
    const dir = journalDir();
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 30 }), {
          minLength: 1,
          maxLength: 5,
        }),
        async (ids) => {
          const journal = openJournal(dir);
          const salt = Math.floor(performance.now() * 1000);
          // The generator likes names like these too.
          const all_ids = new Set(['../../x', '/etc/x', '__proto__', 'a\0b', ...ids]);
          const names = [...all_ids].map((id) => `${id}${salt}`);
          const all = names.flatMap((id) => [entry(1, JSON.stringify(id), id), entry(2, '2', id)]);
          expect(new Set(await journal.append(all))).toEqual(new Set(['stored']));
          await journal.close();
          for (const id of names) {
            const expected = [1, 2].map((n) => ['main', n, n === 1 ? JSON.stringify(id) : '2']);
            expect((await stored(dir, id)).entries).toEqual(expected);
          }
        },
      ),
      { numRuns: 20 },
    );
    expect(readdirSync(dir).every((name) => /^[0-9a-z]{26}\.jsonl$|\.life$/.test(name))).toBe(true);
    expect(readdirSync(join(dir, '..')).sort()).toEqual([
      '.gitignore',
      'journal',
      'mark',
      'spool',
      'transcripts',
    ]);
  });

  test('files are readable by their owner only', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    await journal.append([entry(1, '1')]);
    await journal.close();
    const [segment] = listSegments(dir);
    expect(statSync(join(dir, segment as string)).mode & 0o777).toBe(0o600);
  });

  test('a full segment is closed and the next begins, and a session is read across them', async () => {
    const dir = journalDir();
    const journal = openJournal(dir, { segment_bytes_max: 1000 });
    const entries = numbered(50);
    for (const one of entries) await journal.append([one]);
    await journal.close();
    expect(listSegments(dir).length).toBeGreaterThan(3);
    expect((await stored(dir)).entries).toEqual(bodies(entries));
  });

  test('an entry larger than a group is stored whole', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    const large = entry(2, JSON.stringify('é'.repeat(3_000_000)));
    const entries = [entry(1, '1'), large, entry(3, '3')];
    expect(await journal.append(entries)).toEqual(['stored', 'stored', 'stored']);
    await journal.close();
    expect((await stored(dir)).entries).toEqual(bodies(entries));
  });

  test('an entry that breaks the contract is refused and nothing is stored', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    const bad = [
      entry(1, 'a\nb'),
      entry(1, ''),
      entry(0, '1'),
      entry(1.5, '1'),
      entry(1, '1', 's', 'conflict:main'),
      entry(1, '1', 'x'.repeat(2000)),
    ];
    for (const one of bad) {
      await expect(journal.append([one])).rejects.toMatchObject({ code: 'journal_failed' });
    }
    await journal.close();
    await expect(journal.append([entry(1, '1')])).rejects.toMatchObject({ code: 'journal_failed' });
    expect(listSegments(dir)).toEqual([]);
  });

  test('a session begun as new is not looked up, and any other is', async () => {
    const dir = journalDir();
    const first = openJournal(dir);
    first.begin('s');
    await first.append(numbered(3));
    await first.close();
    const second = openJournal(dir);
    expect(await second.lastSeq('s', 'main')).toBe(3);
    expect(await second.lastSeq('s', 'other')).toBe(0);
    expect(await second.append([entry(4, '4'), entry(6, '6')])).toEqual(['stored', 'gap']);
    await second.close();
  });

  test('sessions beyond those kept in memory are read again from disk', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    const ids = Array.from({ length: 1_100 }, (_, i) => `session ${i}`);
    await journal.append(ids.map((id) => entry(1, '1', id)));
    await journal.append([entry(1, '1', 'one more')]);
    const again = await journal.append([
      entry(1, '1', ids[0]),
      entry(1, '"other"', ids[1]),
      entry(2, '2', ids[2]),
      entry(3, '3', ids[3]),
    ]);
    expect(again).toEqual(['duplicate', 'conflict', 'stored', 'gap']);
    await journal.close();
  });
});

describe('sending again', () => {
  verifies(
    ['ST-3', 'ST-6'],
    'a resend is stored once, a conflict beside its original, a gap not at all',
    async () => {
      const dir = journalDir();
      for (const round of [0, 1]) {
        const journal = openJournal(dir);
        const results = await journal.append([
          entry(1, '"a"'),
          entry(2, '"b"'),
          entry(2, '"b"'),
          entry(1, '"c"'),
          entry(1, '"c"'),
          entry(1, '"d"'),
          entry(4, '"e"'),
        ]);
        const first = round === 0 ? 'stored' : 'duplicate';
        expect(results).toEqual([
          first,
          first,
          'duplicate',
          'conflict',
          'conflict',
          'conflict',
          'gap',
        ]);
        await journal.close();
      }
      const { entries, report } = await stored(dir);
      expect(entries).toEqual([
        ['main', 1, '"a"'],
        ['main', 2, '"b"'],
        ['conflict:main', 1, '"c"'],
        ['conflict:main', 1, '"d"'],
      ]);
      expect(report).toEqual({ ...NOTHING, entries: 4, conflicts: 2 });
    },
  );

  verifies(
    'ST-3',
    'any order of sends, resends and restarts gives the contents of a map',
    async () => {
      const command = fc.record({
        session: fc.constantFrom('a', 'b'),
        source: fc.constantFrom('x', 'y'),
        seq: fc.integer({ min: 1, max: 6 }),
        body: fc.constantFrom('1', '2'),
        restart: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
          const dir = journalDir();
          const model = new Map<string, string[]>();
          const conflicts = new Set<string>();
          let journal = openJournal(dir);
          for (const { restart, ...one } of commands) {
            if (restart) {
              await journal.close();
              journal = openJournal(dir);
            }
            const key = `${one.session}/${one.source}`;
            const list = model.get(key) ?? [];
            const before = list[one.seq - 1];
            const expected =
              one.seq > list.length + 1
                ? 'gap'
                : before === undefined
                  ? 'stored'
                  : before === one.body
                    ? 'duplicate'
                    : 'conflict';
            expect(await journal.append([one])).toEqual([expected]);
            if (expected === 'stored') model.set(key, [...list, one.body]);
            if (expected === 'conflict') conflicts.add(`${key}/${one.seq}/${one.body}`);
          }
          await journal.close();
          const found = new Map<string, string[]>();
          const other: string[] = [];
          for (const session of ['a', 'b']) {
            for (const [source, seq, body] of (await stored(dir, session)).entries) {
              if (source.startsWith('conflict:')) {
                other.push(`${session}/${source.slice(9)}/${seq}/${body}`);
              } else {
                const key = `${session}/${source}`;
                found.set(key, [...(found.get(key) ?? []), body]);
                expect(found.get(key)?.length).toBe(seq);
              }
            }
          }
          expect(Object.fromEntries(found)).toEqual(Object.fromEntries(model));
          expect(other.sort()).toEqual([...conflicts].sort());
        }),
        { numRuns: 60 },
      );
    },
  );
});

describe('damage', () => {
  async function smallJournal(count = 12) {
    const dir = journalDir();
    const journal = openJournal(dir);
    const entries = numbered(count);
    await journal.append(entries);
    await journal.close();
    const path = join(dir, listSegments(dir)[0] as string);
    return { dir, entries, path, bytes: readFileSync(path) };
  }

  verifies(
    'ST-3',
    'a segment truncated at any byte gives all lines before the cut, and the rest can be appended',
    async () => {
      const { dir, entries, path, bytes } = await smallJournal();
      const ends = [...bytes.keys()].filter((at) => bytes[at] === 10);
      for (let cut = 0; cut < bytes.length; cut++) {
        writeFileSync(path, bytes.subarray(0, cut));
        const whole = Math.max(0, ends.filter((end) => end < cut).length - 1);
        const torn = cut > 0 && bytes[cut - 1] !== 10;
        const { entries: found, report } = await stored(dir);
        expect(found).toEqual(bodies(entries.slice(0, whole)));
        if (whole > 0) expect(report).toEqual({ ...NOTHING, entries: whole, torn: torn ? 1 : 0 });
        if (cut % 16 !== 0) continue;
        const journal = openJournal(dir);
        const results = await journal.append(entries);
        expect(results).toEqual(entries.map((_, i) => (i < whole ? 'duplicate' : 'stored')));
        await journal.close();
        expect((await stored(dir)).entries).toEqual(bodies(entries));
        for (const extra of listSegments(dir)) {
          if (join(dir, extra) !== path) writeFileSync(join(dir, extra), '');
        }
      }
    },
  );

  verifies(
    'ST-3',
    'no flipped bit gives an entry that was never appended, and every other entry is read',
    async () => {
      const { dir, entries, path, bytes } = await smallJournal(4);
      const start = bytes.indexOf(10) + 1;
      const known = new Set(bodies(entries).map((each) => JSON.stringify(each)));
      for (let at = start; at < bytes.length; at++) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] as number) ^ (1 << (at % 8));
        writeFileSync(path, damaged);
        const { entries: found } = await stored(dir);
        expect(found.filter((each) => !known.has(JSON.stringify(each)))).toEqual([]);
        // A flipped LF joins two lines: then at most two are lost.
        expect(found.length).toBeGreaterThanOrEqual(bytes[at] === 10 ? 2 : 3);
      }
    },
  );

  verifies('ST-3', 'a damaged entry can be appended again and is read in its place', async () => {
    const { dir, entries, path, bytes } = await smallJournal(6);
    const damaged = Buffer.from(bytes);
    const at = damaged.indexOf('"n":3,"t"');
    damaged[at + 4] = 0x34;
    writeFileSync(path, damaged);
    const journal = openJournal(dir);
    const expected = entries.map(({ seq }) => (seq === 3 ? 'stored' : 'duplicate'));
    expect(await journal.append(entries)).toEqual(expected);
    await journal.close();
    const { entries: found, report } = await stored(dir);
    expect(found).toEqual(bodies(entries));
    expect(report).toMatchObject({ entries: 6, duplicates: 0, conflicts: 0 });
  });

  test('a block of NULs hides only the lines it covers', async () => {
    const { dir, entries, path, bytes } = await smallJournal(6);
    const lines = bytes.toString('latin1').split('\n');
    const holed = [...lines.slice(0, 3), '\0'.repeat(4096) + lines[3], ...lines.slice(4)].join(
      '\n',
    );
    writeFileSync(path, holed, 'latin1');
    const { entries: found, report } = await stored(dir);
    expect(found).toEqual(bodies(entries));
    expect(report).toEqual({ ...NOTHING, entries: 6, corrupt: 1, salvaged: 1 });
    const covered = [...lines.slice(0, 3), '\0'.repeat(200), ...lines.slice(5)].join('\n');
    writeFileSync(path, covered, 'latin1');
    expect((await stored(dir)).entries).toEqual(
      bodies(entries.filter(({ seq }) => seq < 3 || seq > 4)),
    );
  });

  test('garbage of any kind between lines is counted and nothing else is lost', async () => {
    const { dir, entries, path, bytes } = await smallJournal(4);
    const lines = bytes.toString('latin1').split('\n').slice(0, -1);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 80 }), { maxLength: 6 }),
        async (junk) => {
          const parts = [...lines];
          const clean = junk.map((bytes) =>
            Buffer.from(bytes).toString('latin1').replaceAll('\n', 'x'),
          );
          for (const [i, piece] of clean.entries()) parts.splice(1 + (i % 4), 0, piece);
          writeFileSync(path, `${parts.join('\n')}\n`, 'latin1');
          const read = readAll(dir);
          const found: string[] = [];
          for await (const { body } of read) found.push(body);
          expect(found).toEqual(entries.map(({ body }) => body));
          expect(read.report).toEqual({ ...NOTHING, entries: 4, corrupt: clean.length });
        },
      ),
      { numRuns: 100 },
    );
  });

  test('segments with names out of order are still read by number', async () => {
    const dir = journalDir();
    const times = [3_000, 2_000, 1_000].map((ms) => ms + 1e12);
    for (const [round, now_ms] of times.entries()) {
      const { createSegment } = await import('./segment.ts');
      const { headOf, writeLine } = await import('./line.ts');
      const name = `${'0'.repeat(20)}${String(now_ms).slice(0, 6)}.jsonl`.replace(
        /^.{3}/,
        `00${3 - round}`,
      );
      const segment = createSegment(dir, name);
      const bytes = Buffer.alloc(1000);
      let fill = 0;
      for (const one of numbered(3, round * 3 + 1)) {
        fill = writeLine(bytes, fill, { head: headOf('s', 'main'), ...one }).end;
      }
      await segment.write(bytes.subarray(0, fill));
      segment.close();
    }
    expect((await stored(dir)).entries.map(([, seq]) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('numbers that no journal assigns cost nothing, and the others are read', async () => {
    const { createSegment } = await import('./segment.ts');
    const { headOf, writeLine } = await import('./line.ts');
    const dir = journalDir();
    const segment = createSegment(dir, `${'0'.repeat(26)}.jsonl`);
    const bytes = Buffer.alloc(1000);
    let fill = 0;
    for (const seq of [1, LIMITS.session_events_max + 1, 2, 2 ** 40, 5, 2 ** 53 - 1])
      fill = writeLine(bytes, fill, { head: headOf('s', 'main'), seq, body: '"x"' }).end;
    await segment.write(bytes.subarray(0, fill));
    segment.close();
    expect((await stored(dir)).entries.map(([, seq]) => seq)).toEqual([1, 2, 5]);
    const journal = openJournal(dir);
    expect(await journal.lastSeq('s', 'main')).toBe(5);
    expect(await journal.append([entry(6, '"x"')])).toEqual(['stored']);
    await journal.close();
  });

  test('two writers of one number: the first counts, the other is kept as a conflict', async () => {
    const dir = journalDir();
    const [one, two] = [openJournal(dir), openJournal(dir)];
    one.begin('s');
    two.begin('s');
    await one.append([entry(1, '"one"'), entry(2, '"same"')]);
    await two.append([entry(1, '"two"'), entry(2, '"same"')]);
    await one.close();
    await two.close();
    const { entries, report } = await stored(dir);
    expect(entries).toEqual([
      ['main', 1, '"one"'],
      ['main', 2, '"same"'],
      ['conflict:main', 1, '"two"'],
    ]);
    expect(report).toEqual({ ...NOTHING, entries: 3, conflicts: 1, duplicates: 1 });
  });
});

test('everything is read from a cursor on, except a line without an end', async () => {
  const dir = journalDir();
  const journal = openJournal(dir);
  await journal.append(numbered(3));
  const cursor: Record<string, number> = {};
  for await (const { segment, next } of readAll(dir)) cursor[segment] = next;
  await journal.append(numbered(2, 4));
  await journal.close();
  appendFileSync(join(dir, listSegments(dir)[0] as string), '{"s":"torn');
  const read = readAll(dir, cursor);
  const found: number[] = [];
  for await (const { seq } of read) found.push(seq);
  expect(found).toEqual([4, 5]);
  expect(read.report).toEqual({ ...NOTHING, entries: 2, torn: 1 });
});

describe('a segment that others change', () => {
  const HOW: Record<string, (path: string) => void> = {
    removed: (path) => rmSync(path),
    replaced: (path) => {
      copyFileSync(path, `${path}.x`);
      renameSync(`${path}.x`, path);
    },
    cut: (path) => truncateSync(path, 10),
  };
  for (const [how, change] of Object.entries(HOW))
    test(`is noticed if it is ${how}: at the next append, or at the end for an earlier segment`, async () => {
      const entry = (seq: number) => ({ session: 's', source: 'm', seq, body: `"${seq}"` });
      const dir = journalDir();
      const journal = openJournal(dir);
      journal.begin('s');
      await journal.append([entry(1)]);
      journal.check();
      change(join(dir, listSegments(dir)[0] as string));
      await expect(journal.append([entry(2)])).rejects.toThrow(
        /was removed or replaced|was truncated/,
      );
      await journal.close();

      const other = journalDir();
      const small = openJournal(other, { segment_bytes_max: 1 });
      small.begin('s');
      await small.append([entry(1)]);
      await small.append([entry(2)]);
      change(join(other, listSegments(other)[0] as string));
      await small.append([entry(3)]);
      expect(() => small.check()).toThrow(/was removed or replaced|was truncated/);
      await small.close();
    });

  test('is noticed at the end if its bytes differ, although later appends succeed', async () => {
    const entry = (seq: number) => ({ session: 's', source: 'm', seq, body: `"${seq}"` });
    const changed = (path: string, from: string, to: string) => {
      const { atime, mtime } = statSync(path);
      const text = readFileSync(path, 'latin1').replace(from, to);
      writeFileSync(path, text, { encoding: 'latin1', flag: 'r+' });
      utimesSync(path, atime, mtime);
    };
    for (const [from, to] of [
      ['"1"', '"9"'],
      ['"1"', '"1"'],
    ] as const) {
      const dir = journalDir();
      const journal = openJournal(dir);
      journal.begin('s');
      await journal.append([entry(1)]);
      changed(join(dir, listSegments(dir)[0] as string), from, to);
      await journal.append([entry(2)]);
      if (from === to) journal.check();
      else expect(() => journal.check()).toThrow(/was changed/);
      await journal.close();
      if (from !== to) expect(() => journal.check()).toThrow(/was changed/);
    }
  });
});
