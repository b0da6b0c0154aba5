import { closeSync } from 'node:fs';

/** Opens a file, uses it, and closes it. */
export function withFd<T>(fd: number, use: (fd: number) => T): T {
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
