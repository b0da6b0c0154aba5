/** Runs `tacho init`. */
import { join } from 'node:path';
import { foreignState, NOT_RECOVERED } from '../../app/config/own-state.ts';
import { findStateDir, hasState, openStateDir, PROJECT_STATE } from '../../store/state-dir.ts';
import { isOwnState } from '../../store/state-mark.ts';
import { type Io, print } from '../command.ts';
import { sayTo } from '../state.ts';

export async function init(flags: { json?: true }, io: Io): Promise<void> {
  const path = join(process.cwd(), PROJECT_STATE);
  const created = !hasState(path);
  openStateDir(path);
  const text = created
    ? `Created ${path}. Runs started in this folder or below are stored there; git ignores it.\n`
    : `${path} already exists. Runs started in this folder or below are stored there.\n`;
  await print(io, flags, { path, created }, () => text);
  const say = sayTo(io);
  if (!isOwnState(path)) say(`warning: ${foreignState(path, NOT_RECOVERED)}`);
  const used = findStateDir({ flag: io.state_flag, env: io.env });
  const name = used.source === 'flag' ? '--state-dir' : 'TACHO_HOME';
  if (used.path !== path) say(`note: ${name} has priority: ${used.path} is used while it is set`);
}
