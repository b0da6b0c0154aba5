/** Looking into folders that may not be there. */
import { readdir, stat } from 'node:fs/promises';

/** Names in a folder, sorted; none where it cannot be read. */
export async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = await readdir(folder).catch(() => []);
  return names.sort();
}

export async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ?? false;
}
