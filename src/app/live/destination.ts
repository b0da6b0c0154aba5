/** Destination of a run's live messages: as requested, and with all defaults. */
import { resolve } from 'node:path';
import { traceOf } from '../../lib/trace.ts';
import type { LiveMessage } from '../../model/live.ts';
import { livePaths } from './paths.ts';

/** The collector that a run is sent to. */
export interface LiveRunOptions {
  /** `unix:PATH`, `tcp://HOST:PORT`, `tls://HOST:PORT` or `pipe:FOLDER`. `unix:` alone: the collector of the run's state folder. */
  url: string;
  /** File with the token. */
  tokenFile?: string | null | undefined;
  /** File with the certificates that the collector's certificate is checked against. */
  ca?: string | null | undefined;
  /** Allow a connection to another machine without TLS. Default: false. */
  insecure?: boolean | undefined;
  /** Report calls that run longer than this as timed out; they are not ended. */
  callTimeoutMs?: number | null | undefined;
  /** W3C trace context of the caller. Default: that of the environment. */
  trace?: LiveMessage['trace'] | undefined;
}

/** The same with all defaults, as stored with the spool so that a recovery can finish it. */
export interface LiveRunConfig {
  url: string;
  token_file: string | null;
  ca: string | null;
  insecure?: boolean;
  call_timeout_ms: number | null;
  trace: LiveMessage['trace'];
}

/** Checks the address and records whether TLS may be missing. */
export async function sendingTo(live: LiveRunOptions, state_dir: string): Promise<LiveRunConfig> {
  const { parseAddress, sendingUrl } = await import('../../live/protocol/address.ts');
  const {
    insecure = false,
    callTimeoutMs: call_timeout_ms = null,
    trace = traceOf(process.env),
  } = live;
  const own = live.url === 'unix:' ? `unix:${livePaths(state_dir).socket}` : live.url;
  const url = sendingUrl(own, insecure);
  parseAddress(url);
  const absolute = (path: string | null | undefined) => (path == null ? null : resolve(path));
  const [token_file, ca] = [absolute(live.tokenFile), absolute(live.ca)];
  return { url, token_file, ca, insecure, call_timeout_ms, trace };
}
