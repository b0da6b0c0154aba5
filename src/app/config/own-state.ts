/**
 * Whether tacho may act on the contents of a state folder: only in the user's own, and only towards destinations the
 * user named.
 */
import { existsSync, realpathSync } from 'node:fs';
import type { OutboxTarget } from '../../store/outbox/lines.ts';
import { isOwnState } from '../../store/state-mark.ts';
import { hashOf, isKnown, remember } from '../../store/user-state.ts';

export interface Acting {
  /** The user agreed for this command: `--trust` or TACHO_TRUST=1. */
  trust: boolean;
  say(text: string): void;
}

export const isTrusted = (flag: boolean | undefined, env: NodeJS.ProcessEnv) =>
  flag === true || env.TACHO_TRUST === '1';

export const NOT_RECOVERED = 'the unfinished runs in it are not recovered';

/** `what`: the work that is not done in such a folder. */
export const foreignState = (state_dir: string, what: string) =>
  `${state_dir} was not created by this user: ${what}; check its contents, then run: tacho trust ${state_dir}`;

/** Reports the work that is not done if the folder is not the user's own. */
export function mayAct(state_dir: string, what: string, { trust, say }: Acting): boolean {
  if (trust || isOwnState(state_dir)) return true;
  say(`warning: ${foreignState(state_dir, what)}`);
  return false;
}

const targetFact = (state_dir: string, { url, token_file, ca }: OutboxTarget) => ({
  kind: 'target' as const,
  path: realpathSync(state_dir),
  key: hashOf(JSON.stringify([url, token_file, ca])),
});

/** The user named this destination, by flags or through the library: undelivered messages may be sent there later. */
export function rememberTarget(state_dir: string, target: OutboxTarget): void {
  if (!existsSync(state_dir)) return;
  const { url, token_file, ca } = target;
  const notes = [url, token_file && `token file ${token_file}`, ca].filter((note) => note !== null);
  remember({ ...targetFact(state_dir, target), notes });
}

export function isOwnTarget(state_dir: string, target: OutboxTarget): boolean {
  return isKnown(targetFact(state_dir, target));
}
