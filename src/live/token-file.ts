/** Token files. Contract: a file that others can read is refused. */
import { TachoError } from '../lib/errors.ts';
import { readTextFile } from '../lib/text-file.ts';
import { LIVE_LIMITS } from './limits.ts';

const STAGE = 'live';

export const tokenFileError = (path: string, why: string) =>
  new TachoError('config_invalid', `${path}: ${why}`, { stage: STAGE });

export function readPrivateText(path: string): string {
  const { text, stat } = readTextFile(path, {
    bytes_max: LIVE_LIMITS.token_file_bytes_max,
    stage: STAGE,
  });
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0)
    throw tokenFileError(path, `other users can read this file: run chmod 600 ${path}`);
  return text;
}

/** The single token in the file of a client, a sender or a watcher. */
export function readToken(path: string): string {
  const token = readPrivateText(path).trim();
  if (token === '') throw tokenFileError(path, 'contains no token');
  if (/\s/.test(token)) throw tokenFileError(path, 'must contain a single token without spaces');
  return token;
}
