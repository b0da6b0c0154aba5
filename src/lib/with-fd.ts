import { closeSync } from 'node:fs';

/** Uses an open file, and closes it. */
export function withFd<T>(fd: number, use: (fd: number) => T): T {
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
