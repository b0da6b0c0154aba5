/** Cases that failed before, identified by the disturbed operation. */
import { afterAll, expect } from 'vitest';
import { note } from '../e2e/needs.ts';
import { verifies } from '../e2e/verifies.ts';
import { nameOf, Player, SCENARIOS, type Way } from './cases.ts';
import { whyNoInjection } from './inject.ts';

interface Pinned {
  title: string;
  ids: readonly string[];
  scenario: string;
  way: Way;
  /** The operation: kind and path, with `#` for ids and numbers. */
  operation: RegExp;
  /** Index among the matches, from 0. */
  nth?: number;
}

const kill = { mode: 'kill', errno: null } as const;
const tear = { mode: 'tear', errno: null } as const;

const PINNED: readonly Pinned[] = [
  {
    title: 'a run is recorded even when the process id of its agent cannot be noted',
    ids: ['ST-9', 'RE-12'],
    scenario: 'run-demo',
    way: { mode: 'once', errno: 'ENOSPC' },
    operation: /^create .*\/\.meta\.json/,
    nth: 1,
  },
  {
    title: 'output that cannot be read to its end is kept, and no recovery removes it',
    ids: ['ST-9', 'RE-12'],
    scenario: 'run-demo',
    way: { mode: 'once', errno: 'EIO' },
    operation: /^read .*\/spool\/r_#\/stdout$/,
    nth: 2,
  },
  {
    title: 'a recovery that cannot write the journal does not report success',
    ids: ['ST-9'],
    scenario: 'recover',
    way: { mode: 'once', errno: 'ENOSPC' },
    operation: /^sync .*\/journal\/#.jsonl$/,
    nth: 1,
  },
  {
    title: 'a segment that cannot be read for a moment is not captured again',
    ids: ['ST-3', 'ST-9'],
    scenario: 'recover',
    way: { mode: 'once', errno: 'EACCES' },
    operation: /^open .*\/journal\/#.jsonl$/,
    nth: 1,
  },
  {
    title: 'output that cannot be opened for a moment is read later',
    ids: ['ST-3', 'ST-9'],
    scenario: 'recover',
    way: { mode: 'once', errno: 'EMFILE' },
    operation: /^open .*\/spool\/r_#\/stdout$/,
  },
  {
    title: 'a meta.json that cannot be read for a moment is read later',
    ids: ['ST-3', 'ST-9'],
    scenario: 'recover',
    way: { mode: 'once', errno: 'EIO' },
    operation: /^read .*\/spool\/r_#\/meta\.json$/,
  },
  {
    title: 'a meta.json that cannot be opened for a moment is read later',
    ids: ['ST-3', 'ST-9'],
    scenario: 'recover',
    way: { mode: 'once', errno: 'EACCES' },
    operation: /^open .*\/spool\/r_#\/meta\.json$/,
  },
  {
    title: 'an outbox that can be neither written nor truncated is reported',
    ids: ['ST-9', 'LP-8'],
    scenario: 'emit',
    way: { mode: 'on', errno: 'EROFS' },
    operation: /^write .*\/outbox\/out-#.jsonl$/,
    nth: 1,
  },
  {
    title: 'an archive that cannot be opened is reported',
    ids: ['ST-9'],
    scenario: 'restore',
    way: { mode: 'on', errno: 'EMFILE' },
    operation: /^open .*\.zst$/,
  },
  {
    title: 'a new file with a mode that cannot be set is removed',
    ids: ['ST-9'],
    scenario: 'run-demo',
    way: { mode: 'once', errno: 'EIO' },
    operation: /^chmod .*\/transcripts\/.*\.tmp$/,
  },
  {
    title: 'part of a transcript left by a killed command is removed later',
    ids: ['ST-3'],
    scenario: 'grade',
    way: kill,
    operation: /^write .*\/transcripts\/.*\.tmp$/,
  },
  {
    title: 'a spool that contains only its mark is removed',
    ids: ['ST-3'],
    scenario: 'run-demo',
    way: tear,
    operation: /^create .*\/spool\/r_#\/stderr$/,
  },
  {
    title: 'a partly deleted run is either complete or not listed',
    ids: ['ST-3'],
    scenario: 'rm',
    way: tear,
    operation: /^unlink .*\/transcripts\//,
  },
  {
    title: 'a segment that cannot be rewritten is reported',
    ids: ['ST-9'],
    scenario: 'rm',
    way: { mode: 'on', errno: 'EIO' },
    operation: /^write .*\/journal\/#.jsonl$/,
  },
  {
    title: 'a segment that cannot be read for a moment is archived completely or not at all',
    ids: ['ST-3', 'ST-9'],
    scenario: 'gc',
    way: { mode: 'once', errno: 'EIO' },
    operation: /^open .*\/journal\/#.jsonl$/,
  },
  {
    title: 'a segment that cannot be read for a moment is rewritten completely or not at all',
    ids: ['ST-3', 'ST-9'],
    scenario: 'gc',
    way: { mode: 'once', errno: 'EIO' },
    operation: /^open .*\/journal\/#.jsonl$/,
    nth: 7,
  },
  {
    title: 'a new index that cannot be removed is reported',
    ids: ['ST-9'],
    scenario: 'reindex',
    way: { mode: 'on', errno: 'EIO' },
    operation: /^write .*\/tacho\.db-wal$/,
  },
];

const why = whyNoInjection();
/** Shared, so that a scenario is prepared once. */
const player = why === null ? new Player() : null;
afterAll(() => player?.close());

for (const { title, ids, scenario: name, way, operation, nth = 0 } of PINNED) {
  const unless = why === null ? '' : ` (NOT RUN: ${why})`;
  if (why !== null) note(`${title}: ${why}`);
  const body = async () => {
    if (player === null) return;
    const scenario = SCENARIOS.find((one) => one.name === name)!;
    const operations = await player.operations(scenario, way);
    const places = operations.flatMap((line, n) => (operation.test(line) ? [n + 1] : []));
    const at = places.at(nth);
    expect(at, `${operation} is not among\n${operations.join('\n')}`).toBeDefined();
    const one = { scenario: name, ...way, at: at as number };
    const { faults, operation: disturbed } = await player.play(one);
    expect(faults, `${disturbed}; repeat with: npm run torture -- --case ${nameOf(one)}`).toEqual(
      [],
    );
  };
  verifies(ids, `${name}: ${title}${unless}`, body, 300_000);
}
