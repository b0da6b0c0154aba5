/** `tacho watch --install` and `--uninstall`. */
import { resolve } from 'node:path';
import { agentOf } from '../../app/config/agent-of.ts';
import { installService, serviceHere, uninstallService } from '../../app/watch/service.ts';
import { askTerminal } from '../acting.ts';
import type { Io } from '../command.ts';

interface ServiceFlags {
  install?: true;
  yes?: true;
  metadataOnly?: true;
  redact?: string[];
}

/** The service gets the same arguments. */
export async function changeService(
  agents: readonly string[],
  flags: ServiceFlags,
  state_dir: string,
  io: Io,
): Promise<number> {
  for (const id of agents) await agentOf(id);
  const args = [
    ...agents,
    ...(io.state_flag === undefined ? [] : ['--state-dir', resolve(state_dir)]),
    ...(flags.metadataOnly ? ['--metadata-only'] : []),
    ...(flags.redact ?? []).flatMap((pattern) => ['--redact', pattern]),
  ];
  const context = serviceHere({
    args,
    env: io.env,
    say: (text) => void io.out.write(text),
    confirm: askTerminal,
  });
  const yes = flags.yes === true;
  await (flags.install ? installService(context, { yes }) : uninstallService(context, { yes }));
  return 0;
}
