/** The user's home folder. A cloned repository cannot put files there. */
import { homedir, userInfo } from 'node:os';
import { isAbsolute } from 'node:path';

const WAYS: readonly (() => string)[] = [homedir, () => userInfo().homedir];

/**
 * From HOME, otherwise from the system's user database. An empty or relative HOME is ignored: it would mean the current
 * folder. For a user with neither it is the root folder, as in most containers.
 */
export function homeFolder(ways = WAYS): string {
  for (const way of ways) {
    try {
      const found = way();
      if (isAbsolute(found)) return found;
    } catch {
      // The user database has no entry for this user.
    }
  }
  return '/';
}
