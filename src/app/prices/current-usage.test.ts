import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import type { Index } from '../../store/index/index-db.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { openStore } from '../runs/open-store.ts';
import { reindex } from '../runs/reindex.ts';
import { currentUsage } from './current-usage.ts';

const AGENTS = join(import.meta.dirname, '..', '..', 'agents');
const SESSION = join(AGENTS, 'pi', 'testdata', 'text', 'session');

const rowsIn = (index: Index) =>
  [...index.usage()].map(({ run_id, at_ms, model, tokens }) => [run_id, at_ms, model, tokens]);

verifies(
  'SE-6',
  'the usage of runs that an older tacho saved is read from the journal',
  async () => {
    const path = join(testFolder(), 'state');
    using store = openStore({ stateDir: path });
    const { readdirSync } = await import('node:fs');
    const name = readdirSync(SESSION, { recursive: true, encoding: 'utf8' }).find((one) =>
      one.endsWith('.jsonl'),
    );
    for await (const found of store.import({ agent: 'pi', files: [join(SESSION, name ?? '')] }))
      expect(found.state).toBe('imported');
    const state = openStateDir(path);
    using index = openIndex(state);
    const rows = rowsIn(index);
    expect(rows[0]?.[3]).toMatchObject({ input: expect.any(Number) });
    const older = () => {
      const db = new DatabaseSync(state.db);
      db.exec('DELETE FROM usage');
      db.close();
      expect([...index.usage()].map(({ measured }) => measured)).toEqual([false]);
    };
    older();
    const said: string[] = [];
    await currentUsage(state, (text) => said.push(text));
    expect(rowsIn(index)).toEqual(rows);
    expect(said).toEqual(['note: reading the usage of 1 run that an older tacho saved']);
    await currentUsage(state, (text) => said.push(text));
    expect(said).toHaveLength(1);
    older();
    await reindex(state);
    expect(rowsIn(index)).toEqual(rows);
    await store.remove(['last']);
    expect(rowsIn(index)).toEqual([]);
  },
);
