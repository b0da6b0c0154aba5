/**
 * Permissions of peers, from a token file.
 * Contract: a token is compared with every known one in constant time; a file that others can read is refused.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isoTime } from '../../lib/iso-time.ts';
import { readJson } from '../../lib/schema/json.ts';
import { Report } from '../../lib/schema/mistakes.ts';
import type { Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import { LIVE_PERMISSIONS, type LivePermission } from '../../model/live-words.ts';
import { readPrivateText, tokenFileError } from '../token-file.ts';

/** Permissions of a connection. */
export interface Grant {
  permissions: ReadonlySet<LivePermission>;
  /** Epoch ms; null when it does not expire. */
  expires_ms: number | null;
  /** Null for all sessions. */
  sessions: ReadonlySet<string> | null;
}

/** The grant when no token is required. */
export const FULL_GRANT: Grant = {
  permissions: new Set(LIVE_PERMISSIONS),
  expires_ms: null,
  sessions: null,
};

export type Tokens = readonly (Grant & { hash: Buffer })[];

const STAGE = 'live';
const hashOf = (token: string) => createHash('sha256').update(token, 'utf8').digest();

export const readTokenFile = (path: string): Tokens => parseTokens(readPrivateText(path), path);

const expiry: Read<number> = (value, place) => {
  const at_ms = typeof value === 'string' ? isoTime(value) : undefined;
  if (at_ms === undefined) place.mistake('must be a time like 2026-03-03T10:00:00.000Z');
  return at_ms ?? 0;
};
const TOKEN = {
  token: is.required(is.text),
  permissions: is.required(is.listOf(is.oneOf(LIVE_PERMISSIONS))),
  expires_at: is.orNull(expiry),
  sessions: is.orNull(is.listOf(is.text, 'must be a list of session ids')),
};
const TOKENS = is.filled(is.listOf(is.mapOf(TOKEN)));
const FILE = { tokens: is.required(TOKENS) };

/** One bare token, or `{ "tokens": [{ "token", "permissions", "expires_at", "sessions" }] }`. */
export function parseTokens(text: string, path: string): Tokens {
  const bare = text.trim();
  if (bare === '') throw tokenFileError(path, 'contains no token');
  if (!bare.startsWith('{')) {
    if (/\s/.test(bare))
      throw tokenFileError(path, 'must contain one bare token, or a JSON object with "tokens"');
    return [{ ...FULL_GRANT, hash: hashOf(bare) }];
  }
  const source = readJson(path, text.replace(/^\ufeff/, ''));
  const report = new Report(STAGE);
  const { tokens } = is.mapOf(FILE)(source.value, report.open(source));
  report.end();
  return tokens.map(({ token, permissions, expires_at = null, sessions = null }) => ({
    hash: hashOf(token),
    permissions: new Set(permissions),
    expires_ms: expires_at,
    sessions: sessions && new Set(sessions),
  }));
}

/** Null when the token is unknown or has expired. All tokens are compared, even after a match. */
export function grantFor(tokens: Tokens, token: string, now_ms: number): Grant | null {
  const given = hashOf(token);
  let found: Grant | null = null;
  for (const known of tokens) if (timingSafeEqual(known.hash, given)) found = known;
  return found === null || hasExpired(found, now_ms) ? null : found;
}

export function hasExpired({ expires_ms }: Grant, now_ms: number): boolean {
  return expires_ms !== null && expires_ms <= now_ms;
}

/** Null when it is allowed, else the reason. */
export function refusalOf(
  grant: Grant,
  permission: LivePermission,
  session_id: string | null,
): string | null {
  if (!grant.permissions.has(permission))
    return `the token does not have the permission ${permission}`;
  if (session_id !== null && grant.sessions !== null && !grant.sessions.has(session_id))
    return 'the token does not cover this session';
  return null;
}
