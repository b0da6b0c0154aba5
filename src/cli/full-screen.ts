import type { Io } from './command.ts';

/** Why the terminal cannot show a full-screen view; null if it can. */
export function noFullScreen({ env, out_is_terminal, in_is_terminal }: Io): string | null {
  if (!out_is_terminal || !in_is_terminal) return 'the input or output is a file or pipe';
  return env.TERM === 'dumb' ? 'TERM is "dumb"' : null;
}
