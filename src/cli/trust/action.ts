/** Runs `tacho trust`. */
import { shown } from '../../app/config/consent.ts';
import { agreedIn, agreeTo, type Found, takeBack, trustable } from '../../app/trust/trust.ts';
import { TachoError } from '../../lib/errors.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';

export interface TrustFlags {
  list?: true;
  remove?: true;
  json?: true;
}

const PATH_CHARS_MAX = 5_000;

export async function trustCommand(
  path: string | undefined,
  flags: TrustFlags,
  io: Io,
): Promise<number> {
  if (flags.list && flags.remove)
    throw new TachoError('usage', '--list and --remove cannot be combined', { stage: 'trust' });
  const folder = path ?? process.cwd();
  if (flags.list) await show(agreedIn(path ?? '/'), flags, io, 'You have not agreed to anything.');
  else if (flags.remove)
    await show(takeBack(folder), flags, io, 'There was no consent to withdraw.');
  else {
    // Without a path, the state folder that commands use here counts as well.
    const also = resolveStateDir({ flag: io.state_flag, env: io.env });
    const found = await trustable(folder, path === undefined ? also : null, io.env);
    for (const one of found) agreeTo(one);
    await show(found, flags, io, 'Nothing here needs your consent.');
  }
  return 0;
}

async function show(found: Found[], flags: TrustFlags, io: Io, nothing: string): Promise<void> {
  if (flags.json) {
    for (const { kind, path, effects } of found)
      await io.out.json(`${JSON.stringify({ kind, path, effects })}\n`);
    return;
  }
  if (found.length === 0) await io.out.write(`${nothing}\n`);
  const state = flags.remove ? 'no longer trusted' : 'trusted';
  for (const { path, effects } of found) {
    const lines = effects.map((effect) => `  ${shown(effect)}\n`);
    await io.out.write(`${oneLine(path, PATH_CHARS_MAX)}: ${state}\n${lines.join('')}`);
  }
}
