/** Failures to read a session that may pass although its file does not change. */
import { errnoOf, type TachoError } from '../../lib/errors.ts';

/** Somebody has the file locked, the disk failed once, or this process has too many files open. */
const ERRNOS: ReadonlySet<string> = new Set(
  'EAGAIN EBUSY EIO EMFILE ENFILE ENOMEM ESTALE ETIMEDOUT'.split(' '),
);
/** SQLITE_BUSY and SQLITE_LOCKED. */
const SQLITE_CODES: ReadonlySet<unknown> = new Set([5, 6]);

export function mayPass({ cause }: TachoError): boolean {
  const { errcode } = (cause ?? {}) as { errcode?: unknown };
  return ERRNOS.has(errnoOf(cause)) || SQLITE_CODES.has(errcode);
}
