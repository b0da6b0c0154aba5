/** Faults of session files, one by one, through the watcher: nothing is lost or there twice, and nothing is tried forever. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { watchedHome } from '../../../test/fixtures/watch-once.ts';

const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const RECORDED = `../../agents/claude/testdata/resume/session/.claude/projects/-home-user-project/${ID}.jsonl`;
const LINES = readFileSync(join(import.meta.dirname, RECORDED), 'utf8').split(/(?<=\n)/);
const SECOND = LINES.findIndex((line) => line.includes('And now say goodbye.'));
/** A session of two turns. The scripted model used its ids twice. */
const A = LINES.slice(0, SECOND).join('');
const B = LINES.slice(SECOND).join('').replaceAll('_mock_', '_mock_b');
const SAID_A = ['Run the hello script.', 'toolu_mock_0001', 'Done.'];
const SAID = [...SAID_A, 'And now say goodbye.', 'toolu_mock_b0001', 'Goodbye.'];
const LOST = 'history_rewritten';
const packed = (text: string) => zstdCompressSync(text);
const other = (text: string) => text.replaceAll('hello script', 'hallo script');
const OTHER = 'Run the hallo script.';
const SIX = Buffer.byteLength(LINES.slice(0, 6).join(''));
const umlaut = Buffer.from(B.replaceAll('goodbye', 'gööd'));
const inside = umlaut.indexOf('ö') + 1;
const broken = packed(A + B).fill(7, 900);

interface Files {
  path: string;
  folder: string;
}

/** A change of the file, and the content of the run afterwards. */
type Step = [does: (files: Files) => void, has: readonly string[]];

const nothing = () => undefined;
const all = (text: string): Step => [({ path }) => writeFileSync(path, text), SAID];
const more: Step = [({ path }) => appendFileSync(path, B), SAID];

const FAULTS: Record<string, Step[]> = {
  'truncated to nothing, then written on': [
    [({ path }) => truncateSync(path), SAID_A],
    [({ path }) => appendFileSync(path, B), [...SAID, LOST]],
  ],
  'truncated to nothing, then written with other content': [
    [({ path }) => truncateSync(path), SAID_A],
    [({ path }) => appendFileSync(path, other(A)), [...SAID_A, OTHER, LOST]],
  ],
  'truncated within a record, and written on': [
    [({ path }) => truncateSync(path, SIX - 100), [...SAID_A, LOST]],
    [({ path }) => appendFileSync(path, `\n${B}`), [...SAID, LOST, 'not_json']],
  ],
  'truncated between records, and written again': [
    [({ path }) => truncateSync(path, SIX), [...SAID_A, LOST]],
    [({ path }) => writeFileSync(path, A + B), [...SAID, LOST]],
  ],
  'rewritten with the same size': [
    [({ path }) => writeFileSync(path, other(A)), [...SAID_A, OTHER, LOST]],
  ],
  'rewritten with the same size and time': [
    [({ path }) => utimesSync(path, 1e9, 1e9), SAID_A],
    [
      ({ path }) => {
        writeFileSync(path, other(A));
        utimesSync(path, 1e9, 1e9);
      },
      [...SAID_A, OTHER, LOST],
    ],
  ],
  'rewritten shorter, then with all': [
    [({ path }) => writeFileSync(path, B), [...SAID, LOST]],
    [({ path }) => writeFileSync(path, A + B), [...SAID, LOST]],
  ],
  'replaced by a longer copy of itself': [
    [
      ({ path }) => {
        writeFileSync(`${path}.new`, A + B);
        renameSync(`${path}.new`, path);
      },
      SAID,
    ],
  ],
  'replaced by other content': [
    [
      ({ path }) => {
        writeFileSync(`${path}.new`, other(A + B));
        renameSync(`${path}.new`, path);
      },
      [...SAID, OTHER, LOST],
    ],
  ],
  'copied into another project; the copy grows': [
    [
      ({ folder, path }) => {
        mkdirSync(join(folder, '../q'));
        copyFileSync(path, join(folder, '../q', `${ID}.jsonl`));
      },
      SAID_A,
    ],
    [({ folder }) => appendFileSync(join(folder, '../q', `${ID}.jsonl`), B), SAID],
    // Both are the session: the run has what either has.
    [
      ({ path }) => appendFileSync(path, B.replaceAll('say goodbye', 'say farewell')),
      [...SAID, 'And now say farewell.', LOST],
    ],
  ],
  'copied under another name, and the original deleted': [
    [({ folder, path }) => copyFileSync(path, join(folder, 'copy.jsonl')), SAID_A],
    [({ path }) => rmSync(path), SAID_A],
    [({ folder }) => appendFileSync(join(folder, 'copy.jsonl'), B), SAID],
  ],
  'linked to another name': [
    [({ folder, path }) => linkSync(path, join(folder, 'link.jsonl')), SAID_A],
    more,
  ],
  'deleted, and there again with the same content, then with other content': [
    [({ path }) => rmSync(path), SAID_A],
    [({ path }) => writeFileSync(path, A), SAID_A],
    [({ path }) => rmSync(path), SAID_A],
    [({ path }) => writeFileSync(path, B), [...SAID, LOST]],
  ],
  'compressed while the plain file exists, then without it, then longer': [
    [({ path }) => writeFileSync(`${path}.zst`, packed(A)), SAID_A],
    [({ path }) => rmSync(path), SAID_A],
    [({ path }) => writeFileSync(`${path}.zst`, packed(A + B)), SAID],
    [({ path }) => writeFileSync(path, A + B), SAID],
    [({ path }) => rmSync(`${path}.zst`), SAID],
  ],
  'compressed, but cut, then whole': [
    [({ path }) => rmSync(path), SAID_A],
    [({ path }) => writeFileSync(`${path}.zst`, packed(A + B).subarray(0, 1_200)), SAID_A],
    [nothing, SAID_A],
    [({ path }) => writeFileSync(`${path}.zst`, packed(A + B)), SAID],
  ],
  'compressed, but damaged or empty': [
    [({ path }) => rmSync(path), SAID_A],
    [({ path }) => writeFileSync(`${path}.zst`, broken), SAID_A],
    [({ path }) => writeFileSync(`${path}.zst`, ''), SAID_A],
  ],
  'compressed by a program that wants to fill the disk': [
    [({ path }) => rmSync(path), SAID_A],
    [({ path }) => writeFileSync(`${path}.zst`, zstdCompressSync(Buffer.alloc(70e6))), SAID_A],
  ],
  'with CR LF': [[({ path }) => appendFileSync(path, B.replaceAll('\n', '\r\n')), SAID]],
  'with a byte order mark': [all(`\ufeff${A}${B}`)],
  'with zero bytes after a power cut': [
    [
      ({ path }) =>
        appendFileSync(path, Buffer.concat([Buffer.alloc(4096), Buffer.from(`\n${B}`)])),
      [...SAID_A, 'not_json', ...SAID.slice(SAID_A.length)],
    ],
  ],
  'with zero bytes that are filled later': [
    [
      ({ path }) => appendFileSync(path, Buffer.alloc(Buffer.byteLength(B))),
      [...SAID_A, 'not_json'],
    ],
    all(A + B),
  ],
  'ending within a character': [
    [
      ({ path }) => appendFileSync(path, umlaut.subarray(0, inside)),
      [...SAID_A, 'invalid_utf8', 'torn_line'],
    ],
    [
      ({ path }) => appendFileSync(path, umlaut.subarray(inside)),
      SAID.map((text) => text.replace('goodbye', 'gööd')),
    ],
  ],
  'with a huge line': [
    [
      ({ path }) => appendFileSync(path, `{"type":"user","x":"${'x'.repeat(40e6)}"}\n${B}`),
      [...SAID_A, 'oversize_line', ...SAID.slice(SAID_A.length)],
    ],
  ],
  'from the future, and from before 1970': [
    more,
    [({ path }) => utimesSync(path, 4e9, 4e9), SAID],
    [({ path }) => utimesSync(path, -1e6, -1e6), SAID],
  ],
  'a pipe for a while': [
    [
      ({ folder, path }) => {
        rmSync(path);
        spawnSync('mkfifo', [path, join(folder, 'pipe.jsonl')]);
      },
      SAID_A,
    ],
    [({ path }) => rmSync(path), SAID_A],
    all(A + B),
  ],
  'a link, in folders that are links and loops': [
    [
      ({ folder, path }) => {
        renameSync(path, join(folder, '../../real'));
        symlinkSync(join(folder, '../../real'), path);
        symlinkSync('loop.jsonl', join(folder, 'loop.jsonl'));
        symlinkSync(folder, join(folder, '../again'));
        symlinkSync('..', join(folder, 'up'));
      },
      SAID_A,
    ],
    [({ folder }) => appendFileSync(join(folder, '../../real'), B), SAID],
  ],
  'beside names that are not UTF-8, or have line ends': [
    [
      ({ folder }) => {
        writeFileSync(Buffer.from(`${folder}/\xff\xfe.jsonl`, 'latin1'), A + B);
        writeFileSync(join(folder, 'a\nb.jsonl'), A + B);
        mkdirSync(Buffer.from(`${dirname(folder)}/\xff`, 'latin1'));
      },
      SAID_A,
    ],
    more,
  ],
  'with its folder removed and created again': [
    [({ folder }) => rmSync(folder, { recursive: true }), SAID_A],
    [
      ({ folder, path }) => {
        mkdirSync(folder);
        writeFileSync(path, A + B);
      },
      SAID,
    ],
  ],
  'unreadable for a while': [
    [({ path }) => chmodSync(path, 0), SAID_A],
    [
      ({ path }) => {
        chmodSync(path, 0o600);
        appendFileSync(path, B);
      },
      SAID,
    ],
  ],
};

const shown = (said: readonly string[]) => [...said].sort();

for (const [name, steps] of Object.entries(FAULTS))
  verifies(
    ['WA-3', 'WA-6', 'WA-7'],
    `a session file ${name}`,
    async () => {
      const place = watchedHome('claude');
      const folder = join(place.home, '.claude/projects/p');
      const path = join(folder, `${ID}.jsonl`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, A);
      const [first] = await place.once();
      const run_id = first?.run_id ?? '';
      for (const [does, has] of [[nothing, SAID_A] as Step, ...steps]) {
        does({ folder, path });
        await place.once();
        const said = await place.said();
        expect([...said.keys()]).toEqual([run_id]);
        expect(shown(said.get(run_id) ?? [])).toEqual(shown(has));
        // Nothing is left to do: it is not stored again, and a file that cannot be read is not read again.
        const again = await place.once();
        expect(again.filter(({ state }) => state !== 'known' && state !== 'empty')).toEqual([]);
      }
    },
    60_000,
  );

verifies(['WA-3', 'WA-6'], 'a file name that is used again for another session', async () => {
  const place = watchedHome('claude');
  const path = join(place.home, '.claude/projects/p/session.jsonl');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, A);
  await place.once();
  writeFileSync(path, (A + B).replaceAll(ID, 'another').replaceAll('2026-11', '2026-10'));
  await place.once();
  appendFileSync(path, B.replaceAll('goodbye', 'more').replaceAll(ID, 'another'));
  await place.once();
  const [first, second] = [...(await place.said()).values()];
  expect(first).toEqual(SAID_A);
  expect(second?.slice(0, SAID.length)).toEqual(SAID);
  expect(second).toContain('And now say more.');
});

verifies('WA-6', 'an empty file that grows later, and a file without a message', async () => {
  const place = watchedHome('claude');
  const path = join(place.home, `.claude/projects/p/${ID}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  expect(await place.once()).toMatchObject([{ state: 'empty', why: null }]);
  writeFileSync(path, A + B);
  await place.once();
  expect([...(await place.said()).values()]).toEqual([SAID]);
});
