/** Waits for something that another process does. */
import { setTimeout as sleep } from 'node:timers/promises';

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it did not happen: ${what}`);
    await sleep(50);
  }
}
