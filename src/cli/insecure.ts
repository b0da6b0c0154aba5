/** `--insecure`: the flag, and the line that says what it means. */
import { parseAddress } from '../live/protocol/address.ts';
import type { Io } from './command.ts';

/** One line where token and messages go unencrypted to another machine; an address that is refused throws here. */
export async function warnInsecure(url: string, io: Io): Promise<void> {
  const address = parseAddress(url);
  if (address.kind !== 'tcp' || !address.insecure) return;
  const to = `${address.host}:${address.port}`;
  await io.err.write(`warning: the token and all messages go to ${to} unencrypted\n`);
}
