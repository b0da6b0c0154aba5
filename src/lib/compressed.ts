/** Names of compressed text files: `x.jsonl.zst` contains `x.jsonl`. */
import { existsSync } from 'node:fs';

const COMPRESSED = /\.jsonl\.zst$/;

export const isCompressed = (path: string) => COMPRESSED.test(path);

/** The name of a file without its compression. */
export const plainName = (name: string) => name.replace(COMPRESSED, '.jsonl');

/** The file at this path or its other form. While both exist, the plain one is the one that is written to. */
export function plainOrCompressed(path: string): string {
  const plain = plainName(path);
  return existsSync(plain) || !existsSync(`${plain}.zst`) ? plain : `${plain}.zst`;
}
