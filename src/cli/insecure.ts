/** The warning of `--insecure`. */
import { parseAddress } from '../live/protocol/address.ts';
import type { Io } from './command.ts';

/** Warns when the token and messages are sent unencrypted. Throws for an address that is refused. */
export async function warnInsecure(url: string, io: Io): Promise<void> {
  const address = parseAddress(url);
  if (address.kind !== 'tcp' || !address.insecure) return;
  const to = `${address.host}:${address.port}`;
  await io.err.write(`warning: the token and all messages are sent to ${to} unencrypted\n`);
}
