/** Operational failures: what went wrong, where, whether a retry can help, and what to do. */
import { own } from './own.ts';

export type ErrorCode =
  | 'usage'
  | 'config_invalid'
  | 'untrusted'
  | 'agent_unknown'
  | 'agent_missing'
  | 'agent_not_executable'
  | 'spawn_failed'
  | 'cwd_missing'
  | 'state_unusable'
  | 'disk_full'
  | 'disk_read_only'
  | 'not_a_file'
  | 'not_found'
  | 'input_unreadable'
  | 'output_unwritable'
  | 'journal_failed'
  | 'not_a_terminal'
  | 'refused'
  | 'busy';

export class TachoError extends Error {
  /** Compares by name: the command line and lazily loaded code are separate bundles with separate copies of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && (value as Error | null)?.name === 'TachoError';
  }

  readonly code: ErrorCode;
  readonly stage: string;
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    details: { stage: string; retryable?: boolean; cause?: unknown },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TachoError';
    this.code = code;
    this.stage = details.stage;
    this.retryable = details.retryable ?? false;
  }
}

/** The hint in messages about a state folder that cannot be used. */
export const ELSEWHERE = 'choose another folder with --state-dir or TACHO_HOME';

/** The same hint, to be appended to another message. */
export const orElsewhere = (message: string): string =>
  message.endsWith(ELSEWHERE) ? message : `${message}, or ${ELSEWHERE}`;

const FILE_ERRORS: Record<string, { code: ErrorCode; say: string }> = {
  ENOSPC: { code: 'disk_full', say: 'the disk is full: free some space and try again' },
  EDQUOT: { code: 'disk_full', say: 'the disk quota is used up: free some space and try again' },
  EFBIG: { code: 'disk_full', say: 'the file size limit is reached: raise it and try again' },
  EROFS: {
    code: 'disk_read_only',
    say: `the file system is read-only: ${ELSEWHERE}`,
  },
  EACCES: { code: 'state_unusable', say: 'permission denied: check the owner and mode' },
  EPERM: { code: 'state_unusable', say: 'not permitted: check the owner and mode' },
  ENOTDIR: {
    code: 'state_unusable',
    say: 'a part of the path is a file, not a folder: correct the path',
  },
  EEXIST: { code: 'state_unusable', say: 'a file with this name already exists' },
  EISDIR: { code: 'not_a_file', say: 'it is a folder, not a file' },
  ELOOP: { code: 'state_unusable', say: 'it is a symbolic link, which is not followed' },
  ENOENT: { code: 'not_found', say: 'no such file or folder' },
};

/** The code of a file-system error; empty for other errors. */
export const errnoOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException | null)?.code ?? '';

/** A file-system error as a TachoError that names the path and says what to do. */
export function fileError(cause: unknown, path: string, stage: string): TachoError {
  if (cause instanceof TachoError) return cause;
  const known = own(FILE_ERRORS, errnoOf(cause));
  const text = known ? known.say : String((cause as Error)?.message ?? cause);
  return new TachoError(known?.code ?? 'state_unusable', `${path}: ${text}`, { stage, cause });
}

const OUTPUT_ERRORS: Record<string, string> = {
  ENOENT: 'its folder does not exist: create it first',
  EROFS: 'the file system is read-only: choose another path',
};

/** The same for an output file that the user requested. `name`: its path, after its flag if there is one. */
export function unwritable(cause: unknown, name: string, stage: string): TachoError {
  const known = own(OUTPUT_ERRORS, errnoOf(cause));
  const message = known ? `${name}: ${known}` : fileError(cause, name, stage).message;
  return new TachoError('output_unwritable', message, { stage, cause });
}

/** Returns the result of `work`. File-system errors are rethrown with the path. */
export function withPath<T>(path: string, stage: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw fileError(cause, path, stage);
  }
}
