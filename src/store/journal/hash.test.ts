/** The key of a state folder, under which redacted values are marked. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { openStateDir } from '../state-dir.ts';
import { openSecretHash } from './hash.ts';

verifies('ST-7', 'a damaged key is named, and not used', () => {
  const state = openStateDir(testFolder());
  openSecretHash(state);
  const path = join(state.path, 'redaction.key');
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(31), Buffer.alloc(33)]) {
    writeFileSync(path, bytes);
    expect(() => openSecretHash(state)).toThrow(`${path}: is damaged`);
  }
});

const KEY_MAKER = `
  import { openSecretHash } from ${JSON.stringify(new URL('./hash.ts', import.meta.url).href)};
  import { openStateDir } from ${JSON.stringify(new URL('../state-dir.ts', import.meta.url).href)};
  const [base, at] = process.argv.slice(1);
  for (let i = 0; i < 20; i++) {
    const state = openStateDir(base + i);
    while (Date.now() < Number(at) + i * 40);
    console.log(openSecretHash(state)('secret'));
  }`;

verifies(
  'ST-7',
  'processes that create the key of a folder at the same time all use the same one',
  async () => {
    const folder = testFolder();
    for (let i = 0; i < 20; i++) openStateDir(join(folder, `s${i}`));
    const args = [join(folder, 's'), String(Date.now() + 1_000)];
    const said = await Promise.all(
      [1, 2, 3, 4].map(() => {
        const options = ['--input-type=module', '-e', KEY_MAKER, ...args];
        const child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] });
        let text = '';
        child.stdout.on('data', (data: Buffer) => {
          text += data.toString();
        });
        return new Promise<string>((resolve) => child.on('close', () => resolve(text)));
      }),
    );
    expect(said[0]?.trim().split('\n')).toHaveLength(20);
    expect(new Set(said)).toEqual(new Set([said[0]]));
  },
);
