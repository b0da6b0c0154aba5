/** Private file systems for tests that fill or cut them. Only root can mount. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function quietly(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

export function mount(args: readonly string[], path: string): void {
  mkdirSync(path, { recursive: true });
  quietly('mount', [...args, path]);
}

export function unmount(path: string): void {
  try {
    quietly('umount', [path]);
  } catch {
    quietly('umount', ['-l', path]);
  }
}

/** Null when such a file system can be mounted here, otherwise the reason. */
export function whyNoMount(kind: 'tmpfs' | 'loop'): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-mount-'));
  const path = join(folder, 'mounted');
  try {
    if (kind === 'tmpfs') {
      mount(['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs'], path);
    } else {
      makeImage(join(folder, 'image'), 8);
      mount(['-o', 'loop', join(folder, 'image')], path);
    }
    unmount(path);
    return null;
  } catch (error) {
    return String((error as Error).message.split('\n')[0]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An empty ext4 file system in a file. */
export function makeImage(path: string, mebibytes: number): void {
  quietly('truncate', ['-s', `${mebibytes}M`, path]);
  quietly('mkfs.ext4', ['-q', '-F', path]);
}
