/** Files of tokens. Contract: one that others can read is refused. */
import { TachoError } from '../lib/errors.ts';
import { readTextFile } from '../lib/text-file.ts';
import { LIVE_LIMITS } from './limits.ts';

const STAGE = 'live';

export const tokenFileError = (path: string, why: string) =>
  new TachoError('config_invalid', `${path}: ${why}`, { stage: STAGE });

/** The text of a private file. */
export function readPrivateText(path: string): string {
  const { text, stat } = readTextFile(path, {
    bytes_max: LIVE_LIMITS.token_file_bytes_max,
    stage: STAGE,
  });
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0)
    throw tokenFileError(path, `others can read these tokens: chmod 600 ${path}`);
  return text;
}

/** The one token in the file of a client: a sender, or somebody who watches. */
export function readToken(path: string): string {
  const token = readPrivateText(path).trim();
  if (token === '') throw tokenFileError(path, 'holds no token');
  if (/\s/.test(token)) throw tokenFileError(path, 'a token is one word on a line of its own');
  return token;
}
