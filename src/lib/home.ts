/** The user's home folder: where nothing that came with a clone can be. */
import { homedir, userInfo } from 'node:os';
import { isAbsolute } from 'node:path';

const WAYS: readonly (() => string)[] = [homedir, () => userInfo().homedir];

/**
 * By HOME, else by the system's list of users. An empty or relative HOME would mean the folder we are in. A user without
 * either has the root, as in most containers.
 */
export function homeFolder(ways = WAYS): string {
  for (const way of ways) {
    try {
      const found = way();
      if (isAbsolute(found)) return found;
    } catch {
      // The system does not know this user.
    }
  }
  return '/';
}
