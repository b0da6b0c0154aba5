import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-database-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SCRIPT = `
  import { openDatabase } from ${JSON.stringify(new URL('./database.ts', import.meta.url).href)};
  const [base, at] = process.argv.slice(1);
  for (let i = 0; i < 30; i++) {
    while (Date.now() < Number(at) + i * 40);
    try { openDatabase(base + i).close(); } catch (error) { console.log(error.message); }
  }`;

verifies(
  'ST-6',
  'processes that create the same database at the same time all open it',
  async () => {
    const at = String(Date.now() + 1000);
    const printed = await Promise.all(
      [1, 2, 3, 4].map(() => {
        const args = ['--input-type=module', '-e', SCRIPT, join(folder, 'db'), at];
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        let text = '';
        child.stdout.on('data', (data: Buffer) => {
          text += data.toString();
        });
        return new Promise<string>((resolve) => child.on('close', (code) => resolve(text + code)));
      }),
    );
    expect(printed).toEqual(['0', '0', '0', '0']);
  },
);
