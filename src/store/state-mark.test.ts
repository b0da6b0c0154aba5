import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { succeeds } from '../../test/e2e/needs.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { testFolder } from '../../test/fixtures/folder.ts';
import { openSecretHash, secretHash } from './journal/hash.ts';
import { hasState, openStateDir } from './state-dir.ts';
import { adoptState, isOwnState } from './state-mark.ts';
import { forget, isKnown, listFacts, remember, userStatePath } from './user-state.ts';

/** The user's own state in one test. */
function useUserState(folder = testFolder()): string {
  const { XDG_STATE_HOME: before } = process.env;
  process.env.XDG_STATE_HOME = folder;
  onTestFinished(() => {
    if (before === undefined) delete process.env.XDG_STATE_HOME;
    else process.env.XDG_STATE_HOME = before;
  });
  return folder;
}

const PLANTED = {
  spool: 'r_01m7ek9waharpypwdc3ap3fmfq',
  outbox: 'out-00000000000000000000000000.jsonl',
  journal: '00000000000000000000000000.jsonl',
};
const KINDS = Object.keys(PLANTED) as (keyof typeof PLANTED)[];

/** A folder as a clone could bring it: everything a state folder has, and something to act on. */
function planted(kind: keyof typeof PLANTED, folder = testFolder()): string {
  const state = join(folder, '.tacho');
  mkdirSync(join(state, 'journal'), { recursive: true });
  mkdirSync(join(state, kind), { recursive: true });
  writeFileSync(join(state, kind, PLANTED[kind]), '');
  return state;
}

describe('the mark of a state folder', () => {
  verifies('ST-9', "a folder that tacho made is the user's own, and stays so", () => {
    useUserState();
    const { path } = openStateDir(join(testFolder(), 'state'));
    expect(isOwnState(path)).toBe(true);
    const mark = readFileSync(join(path, 'mark'), 'utf8');
    openStateDir(path);
    expect([isOwnState(path), readFileSync(join(path, 'mark'), 'utf8')]).toEqual([true, mark]);
    const other = openStateDir(join(testFolder(), 'state')).path;
    expect(readFileSync(join(other, 'mark'), 'utf8')).not.toBe(mark);
  });

  for (const kind of KINDS)
    test(`a folder made elsewhere with something in its ${kind} is not adopted by use`, () => {
      useUserState();
      const state = planted(kind);
      openStateDir(state);
      expect(isOwnState(state)).toBe(false);
      expect(adoptState(state)).toBe(true);
      expect(isOwnState(state)).toBe(true);
    });

  test('a folder without anything to act on is marked at its first use, whatever mark it brought', () => {
    useUserState();
    const state = planted('outbox');
    rmSync(join(state, 'outbox'), { recursive: true });
    writeFileSync(join(state, 'mark'), '0'.repeat(32));
    expect(isOwnState(state)).toBe(false);
    openStateDir(state);
    expect(isOwnState(state)).toBe(true);
  });

  for (const [how, adopt] of [
    ['its first use', openStateDir],
    ['tacho trust', adoptState],
  ] as const)
    test(`the key of a folder made elsewhere is not used after ${how}`, () => {
      useUserState();
      const state = planted('outbox');
      if (adopt === openStateDir) rmSync(join(state, 'outbox'), { recursive: true });
      const key = Buffer.alloc(32, 7);
      writeFileSync(join(state, 'redaction.key'), key, { mode: 0o600 });
      adopt(state);
      const mark = openSecretHash(openStateDir(state))('secret');
      expect(mark).not.toBe(secretHash(key)('secret'));
      adopt(state);
      expect(openSecretHash(openStateDir(state))('secret')).toBe(mark);
    });

  test('the key of a folder that is not adopted is not used, and stays', () => {
    useUserState();
    const state = openStateDir(planted('outbox'));
    const path = join(state.path, 'redaction.key');
    const key = Buffer.alloc(32, 7);
    writeFileSync(path, key, { mode: 0o600 });
    expect(openSecretHash(state)('secret')).not.toBe(secretHash(key)('secret'));
    expect(readFileSync(path)).toEqual(key);
  });

  test('a planted mark, a mark behind a link and another folder in place of a known one are ignored', () => {
    useUserState();
    const folder = testFolder();
    const own = openStateDir(join(folder, 'own')).path;
    const mark = readFileSync(join(own, 'mark'));
    const elsewhere = planted('spool');
    writeFileSync(join(elsewhere, 'mark'), mark);
    const linked = planted('spool');
    symlinkSync(join(own, 'mark'), join(linked, 'mark'));
    renameSync(own, join(folder, 'old'));
    mkdirSync(own);
    renameSync(planted('spool'), join(folder, 'new'));
    rmSync(own, { recursive: true });
    renameSync(join(folder, 'new'), own);
    writeFileSync(join(own, 'mark'), 'f'.repeat(32));
    expect([elsewhere, linked, own].map(isOwnState)).toEqual([false, false, false]);
  });

  test('a user with an unwritable state can still record, and owns nothing', () => {
    const file = join(testFolder(), 'file');
    writeFileSync(file, '');
    useUserState(file);
    const { path } = openStateDir(join(testFolder(), 'state'));
    expect(isOwnState(path)).toBe(false);
  });
});

describe("the user's own state", () => {
  const FACT = { kind: 'config', path: '/r/tacho.yaml', key: 'k', notes: ['starts x'] } as const;

  verifies('WA-1', "contains the user's store beside the facts, and is the user's own", () => {
    useUserState();
    remember({ ...FACT, notes: [] });
    expect(hasState(userStatePath())).toBe(false);
    openStateDir(userStatePath());
    const path = userStatePath();
    expect([hasState(path), isOwnState(path), isKnown(FACT)]).toEqual([true, true, true]);
  });

  test('is not a store if others can write it: closing it would make their facts count', () => {
    useUserState();
    remember({ ...FACT, notes: [] });
    chmodSync(userStatePath(), 0o777);
    expect(() => openStateDir(userStatePath())).toThrow('others can write to it');
    chmodSync(userStatePath(), 0o755);
    openStateDir(userStatePath());
    expect(isKnown(FACT)).toBe(true);
  });

  test('remembers facts one by one and forgets them', () => {
    useUserState();
    expect([isKnown(FACT), remember({ ...FACT, notes: [] }), isKnown(FACT)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(isKnown({ ...FACT, key: 'other' })).toBe(false);
    expect(listFacts()).toEqual([{ ...FACT, notes: [] }]);
    forget(FACT);
    expect([isKnown(FACT), listFacts()]).toEqual([false, []]);
  });

  test('is ignored if others can write it', () => {
    useUserState();
    remember({ ...FACT, notes: [] });
    chmodSync(userStatePath(), 0o777);
    expect([isKnown(FACT), listFacts(), remember({ ...FACT, key: 'b', notes: [] })]).toEqual([
      false,
      [],
      false,
    ]);
  });

  const known = () => join(userStatePath(), 'known');
  for (const [what, spoil] of [
    ['where others can write the folder of the facts', () => chmodSync(known(), 0o777)],
    ['in a folder of another user', () => chownSync(userStatePath(), 65_534, 65_534)],
    ['in a folder of facts of another user', () => chownSync(known(), 65_534, 65_534)],
    ['behind a link', () => behindLink(userStatePath())],
    ['where the facts are behind a link', () => behindLink(known())],
  ] as const)
    test.runIf(!what.includes('another user') || succeeds(['test', '-O', '/'], what))(
      `counts for nothing ${what}`,
      () => {
        useUserState();
        remember({ ...FACT, notes: [] });
        spoil();
        expect([isKnown(FACT), listFacts(), remember({ ...FACT, key: 'b', notes: [] })]).toEqual([
          false,
          [],
          false,
        ]);
      },
    );
});

function behindLink(folder: string): void {
  renameSync(folder, `${folder}-elsewhere`);
  symlinkSync(`${folder}-elsewhere`, folder);
}
