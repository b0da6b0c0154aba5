/** `tacho watch --install` and `--uninstall`. */
import { resolve } from 'node:path';
import { agentOf } from '../../app/config/agent-of.ts';
import { installService, serviceHere, uninstallService } from '../../app/watch/service.ts';
import { askTerminal } from '../acting.ts';
import type { Io } from '../command.ts';
import { type LiveFlags, liveOf } from '../run-options.ts';

interface ServiceFlags extends LiveFlags {
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
    ...liveArgs(flags),
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

/** Paths are absolute: a service has another working folder. */
function liveArgs(flags: LiveFlags): string[] {
  const { url, tokenFile, ca, insecure } = liveOf(flags) ?? {};
  if (url === undefined) return [];
  return [
    `--live=${absolute(url)}`,
    ...(tokenFile == null ? [] : ['--live-token-file', resolve(tokenFile)]),
    ...(ca == null ? [] : ['--live-ca', resolve(ca)]),
    ...(insecure ? ['--insecure'] : []),
  ];
}

const absolute = (url: string) =>
  url.replace(
    /^(unix|pipe):(?:\/\/)?(.+)$/s,
    (_, kind: string, path: string) => `${kind}:${resolve(path)}`,
  );
