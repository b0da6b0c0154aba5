/** Size of the installed package with its dependencies. */
import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Row } from './measure.ts';

const MOST_MB = 60;

function bytesIn(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}

export function run(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const root = join(import.meta.dirname, '..');
    const options = {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    } satisfies ExecFileSyncOptionsWithStringEncoding;
    const [packed] = JSON.parse(
      execFileSync(
        'npm',
        ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
        options,
      ),
    );
    writeFileSync(join(folder, 'package.json'), '{}');
    execFileSync(
      'npm',
      ['install', '--no-audit', '--no-fund', '--ignore-scripts', join(folder, packed.filename)],
      { cwd: folder, stdio: 'ignore' },
    );
    const mb = bytesIn(join(folder, 'node_modules')) / 1e6;
    return [
      {
        name: `package installed, ${packed.entryCount} files, with its dependencies`,
        value: `${mb.toFixed(1)} MB`,
        reference: `packed ${(packed.size / 1e6).toFixed(1)} MB`,
        ratio: null,
        target: `≤ ${MOST_MB} MB`,
        ok: mb <= MOST_MB,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
