/** Finds the handshake in a line of a pipe: a killed writer may have left a torn line before it. */

const WORD = Buffer.from('"handshake_request"');
const BRACE = 0x7b;
/** Braces to try before the word: a handshake nests only two objects. */
const TRIES_MAX = 16;

/** Offset of a complete handshake at the end of the line; null when there is none. */
export function cutBeforeHandshake(line: Buffer): number | null {
  const word = line.indexOf(WORD);
  if (word < 0) return null;
  if (isHandshake(line, 0)) return 0;
  const last = line.lastIndexOf(WORD);
  let at = line.lastIndexOf(BRACE, last);
  for (let tries = 0; at >= 0 && tries < TRIES_MAX; tries++) {
    if (isHandshake(line, at)) return at;
    at = at === 0 ? -1 : line.lastIndexOf(BRACE, at - 1);
  }
  return null;
}

function isHandshake(line: Buffer, from: number): boolean {
  try {
    const value = JSON.parse(line.toString('utf8', from)) as { type?: unknown } | null;
    return value?.type === 'handshake_request';
  } catch {
    return false;
  }
}
