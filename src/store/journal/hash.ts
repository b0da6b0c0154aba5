/** Hashes of secrets, with the state folder's own key. */
import { hash, randomBytes } from 'node:crypto';
import { errnoOf, TachoError, withPath } from '../../lib/errors.ts';
import { readPrivate, sleepSync, writeAtomic } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { heldError, takeLock } from '../lock.ts';
import type { StateDir } from '../state-dir.ts';
import { isOwnState, keyPath } from '../state-mark.ts';

const STAGE = 'redaction';
const KEY_BYTES = 32;

/** Text → 8 hex digits, with a key: equal texts have equal hashes, and cannot be guessed without the key. */
export type SecretHash = (text: string) => string;

/** With a key that is not stored. */
export function randomSecretHash(): SecretHash {
  return secretHash(randomBytes(KEY_BYTES));
}

/** HMAC-SHA-256 as two one-shot hashes: ten times faster than an Hmac object for texts this short. */
export function secretHash(key: Uint8Array): SecretHash {
  const inner = Buffer.alloc(64, 0x36);
  const outer = Buffer.alloc(64 + 32, 0x5c);
  key.slice(0, 64).forEach((byte, i) => {
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  });
  return (text) => {
    hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer').copy(outer, 64);
    return hash('sha256', outer, 'hex').slice(0, 8);
  };
}

/**
 * Uses the folder's key, and creates it if it is missing. If several processes create it concurrently, one wins and
 * all use its key. If the folder is not the user's own, its creator may know the key, so a key that is not stored is
 * used instead.
 */
export function openSecretHash(state: StateDir): SecretHash {
  if (!isOwnState(state.path)) return randomSecretHash();
  const path = keyPath(state.path);
  return withPath(path, STAGE, () => secretHash(readKey(path) ?? makeKey(path)));
}

function readKey(path: string): Buffer | null {
  try {
    const key = readPrivate(path);
    if (key.length === KEY_BYTES) return key;
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw cause;
  }
  const text = `${path}: is damaged: remove it; later redactions will have different marks than earlier ones`;
  throw new TachoError('state_unusable', text, { stage: STAGE });
}

function makeKey(path: string): Buffer {
  const lock = `${path}.lock`;
  const until = performance.now() + STORE_LIMITS.lock_wait_ms;
  for (;;) {
    const release = takeLock(lock);
    try {
      // Another process was faster and has created it.
      const found = readKey(path);
      if (found !== null) return found;
      if (release !== null) {
        const key = randomBytes(KEY_BYTES);
        writeAtomic(path, key, STAGE);
        return key;
      }
    } finally {
      release?.();
    }
    if (performance.now() > until) throw heldError(lock, path, STAGE);
    sleepSync(5);
  }
}
